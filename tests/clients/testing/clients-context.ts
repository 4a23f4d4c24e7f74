import { randomUUID } from 'node:crypto';
import { scopes } from '#contracts';
import { freePort } from '#embedded';
import { makeAppPassword } from '#identity';
import { type AppProcess, AppStack, type Device, startProgram } from '#testing';
import pg from 'pg';
import { Balancer } from '../../system/testing/balancer.js';
import { Person } from '../../system/testing/person.js';
import { RecordedApp } from './recorded-app.js';

/** A user who signs in with app passwords. */
export interface Account {
  /** The user id. */
  readonly id: string;
  readonly name: string;
  readonly password: string;
}

/** The system of all tests of clients: two replicas of gpodder behind a load balancer. */
export class ClientsContext {
  private constructor(
    /** The URL that users type into their apps. */
    readonly server: string,
    private readonly accountsUrl: string,
    private readonly stack: AppStack,
    private readonly owner: pg.Client,
    private readonly gateway: AppProcess,
    private readonly processes: AppProcess[],
    private readonly balancer: Balancer,
  ) {}

  static async open(): Promise<ClientsContext> {
    const stack = await AppStack.open({ environment: { OPS_PORT: '0' } });
    const balancer = new Balancer();
    const [server, port] = await Promise.all([balancer.open(), freePort()]);
    const accountsUrl = `http://127.0.0.1:${port}`;
    const owner = new pg.Client({ connectionString: stack.postgres.url });
    await owner.connect();
    const processes = await Promise.all([
      stack.start(['subscription', 'episode', 'deletion-worker', 'gateway']),
      stack.start(['account'], { PUBLIC_URL: accountsUrl, PORT: String(port) }),
      stack.start(['gpodder', 'gpodder'], { PUBLIC_URL: server }),
    ]);
    await balancer.add(...processes[2]);
    const gateway = processes[0][3] as AppProcess;
    return new ClientsContext(
      server,
      accountsUrl,
      stack,
      owner,
      gateway,
      processes.flat(),
      balancer,
    );
  }

  /** Creates a user with an app password. */
  async account(): Promise<Account> {
    const id = randomUUID();
    const name = `ann-${id.slice(0, 8)}`;
    await this.owner.query('INSERT INTO account.accounts (id, name) VALUES ($1, $2)', [id, name]);
    return { id, name, password: await this.appPassword({ id }) };
  }

  /** Creates a user with a password, and opens the account's pages in a browser. */
  async person(): Promise<{ account: Account; browser: Person }> {
    const account = await this.account();
    const password = 'a sentence that nobody guesses';
    const servers = {
      DATABASE_URL: this.stack.postgres.urls.account,
      REDIS_URL: this.stack.redis.url,
    };
    const env = { ...servers, PUBLIC_URL: this.accountsUrl };
    const { stdout } = await startProgram('podcast-sync', ['accounts', 'reset', account.name], env);
    const browser = new Person(this.accountsUrl);
    await browser.submit(new URL(stdout.trim()).pathname, { password });
    await browser.submit('/sign-in', { name: account.name, password });
    return { account, browser };
  }

  /** Creates a further app password; each client of a user has its own. */
  async appPassword({ id }: Pick<Account, 'id'>): Promise<string> {
    const { secret, hash } = makeAppPassword();
    await this.owner.query(
      `INSERT INTO account.credentials (id, account_id, hash, label, scopes)
       VALUES ($1, $2, $3, 'a client', $4)`,
      [randomUUID(), id, Buffer.from(hash, 'base64url'), scopes],
    );
    return secret;
  }

  /** Opens a recorded app of a user. @param clock its time in milliseconds. */
  async app(recording: string, account: Account, clock?: () => number): Promise<RecordedApp> {
    const password = await this.appPassword(account);
    return RecordedApp.open(recording, {
      server: this.server,
      user: account.name,
      password,
      ...(clock && { clock }),
    });
  }

  /** Returns a client of the main API for the same user. */
  device({ id }: Account): Promise<Device> {
    return this.stack.device(this.gateway, id);
  }

  /** Reads rows from the database. */
  async rows<Row>(statement: string, parameters: readonly unknown[]): Promise<Row[]> {
    return (await this.owner.query(statement, [...parameters])).rows as Row[];
  }

  /** Stops all processes. @throws Error if an app logged an error. */
  async close(): Promise<void> {
    this.balancer.close();
    await this.owner.end();
    await this.stack.close();
    const lines = this.processes.flatMap(({ app, output }) =>
      output.split('\n').map((line) => `${app}: ${line}`),
    );
    const errors = lines.filter((line) => /"level":"(error|fatal)"/.test(line));
    if (errors.length > 0)
      throw new Error(`${errors.length} errors:\n${errors.slice(0, 5).join('\n')}`);
  }
}
