import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { scopes as allScopes } from '#contracts';
import { makeAppPassword } from '#runtime';
import { type AppProcess, AppStack, type Device, repository } from '#testing';
import pg from 'pg';
import { Balancer } from '../../system/testing/balancer.js';
import { Person } from '../../system/testing/person.js';

/** Who listens, and signs in with app passwords. */
export interface Account {
  /** The id by which services know the user. */
  readonly id: string;
  readonly name: string;
  readonly password: string;
}

/**
 * Two replicas of everything, behind load balancers that give each request to the other one. Each file of tests has its
 * own; to be closed in `afterAll`.
 */
export class ClientsWorld {
  private constructor(
    /** What people type into their apps as the server. */
    readonly server: string,
    readonly accountsUrl: string,
    readonly stack: AppStack,
    private readonly owner: pg.Client,
    private readonly gateways: AppProcess[],
    private readonly processes: AppProcess[],
    private readonly balancers: Balancer[],
  ) {}

  static async open(): Promise<ClientsWorld> {
    const stack = await AppStack.open({ environment: { OPS_PORT: '0' } });
    const [facades, accounts] = [new Balancer(), new Balancer()];
    const [server, accountsUrl] = [await facades.open(), await accounts.open()];
    const owner = new pg.Client({ connectionString: stack.postgres.url });
    await owner.connect();
    const services = ['subscription', 'episode', 'deletion-worker'] as const;
    const below = await stack.start([...services, ...services]);
    const account = await stack.start(['account', 'account'], { PUBLIC_URL: accountsUrl });
    await accounts.add(...account);
    const gpodder = await stack.start(['gpodder', 'gpodder'], { PUBLIC_URL: server });
    await facades.add(...gpodder);
    const gateways = await stack.start(['gateway', 'gateway']);
    const processes = [...below, ...account, ...gpodder, ...gateways];
    return new ClientsWorld(server, accountsUrl, stack, owner, gateways, processes, [facades, accounts]);
  }

  /** Somebody new, with an app password. */
  async account(): Promise<Account> {
    const id = randomUUID();
    const name = `ann-${id.slice(0, 8)}`;
    await this.owner.query('INSERT INTO account.accounts (id, name) VALUES ($1, $2)', [id, name]);
    return { id, name, password: await this.appPassword({ id }) };
  }

  /** Somebody new with a password of their own, in whose browser the account's pages are open. */
  async person(): Promise<{ account: Omit<Account, 'password'>; browser: Person }> {
    const { id, name } = await this.account();
    const browser = new Person(this.accountsUrl);
    const password = 'a sentence that nobody guesses';
    const link = await this.run('accounts', ['reset', name]);
    await browser.submit(new URL(link).pathname, { password });
    await browser.submit('/sign-in', { name, password });
    return { account: { id, name }, browser };
  }

  /** Runs a program of operators, as they do. @returns what it printed. */
  async run(program: string, args: readonly string[]): Promise<string> {
    const { PATH } = process.env;
    const servers = { DATABASE_URL: this.stack.postgres.urls.account, REDIS_URL: this.stack.redis.url };
    const path = join(repository, 'dist', 'programs', `${program}.js`);
    const env = { PATH, ...servers, PUBLIC_URL: this.accountsUrl };
    const { stdout } = await promisify(execFile)(process.execPath, [path, ...args], { env });
    return stdout.trim();
  }

  /** One more app password: one a client is what is advised. */
  async appPassword({ id }: Pick<Account, 'id'>, scopes: readonly string[] = allScopes): Promise<string> {
    const { secret, hash } = makeAppPassword();
    await this.owner.query(
      `INSERT INTO account.credentials (id, account_id, hash, label, scopes) VALUES ($1, $2, $3, 'a client', $4)`,
      [randomUUID(), id, Buffer.from(hash, 'base64url'), scopes],
    );
    return secret;
  }

  /** A device of the same person that speaks the main API. */
  device({ id }: Account): Promise<Device> {
    return this.stack.device(this.gateways[0] as AppProcess, id);
  }

  /** What the database says. */
  async rows<Row>(statement: string, parameters: readonly unknown[]): Promise<Row[]> {
    return (await this.owner.query(statement, [...parameters])).rows as Row[];
  }

  /** @throws Error where an app has met what it did not expect, whatever it made of it. */
  async close(): Promise<void> {
    for (const balancer of this.balancers) balancer.close();
    await this.owner.end();
    await this.stack.close();
    const lines = this.processes.flatMap(({ app, output }) => output.split('\n').map((line) => `${app}: ${line}`));
    const errors = lines.filter((line) => /"level":"(error|fatal)"/.test(line));
    if (errors.length > 0) throw new Error(`${errors.length} errors:\n${errors.slice(0, 5).join('\n')}`);
  }
}
