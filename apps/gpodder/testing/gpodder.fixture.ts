import { randomUUID } from 'node:crypto';
import { services } from '#contracts';
import { openConnections } from '#http';
import { makeAppPassword } from '#identity';
import { createLog, loadConfig } from '#runtime';
import { type AppProcess, Fixture, type ServedApp, SharedStack } from '#testing';
import pg from 'pg';
import { gpodderConfig } from '../src/gpodder.config.js';
import { compose } from '../src/serve.js';

/** Options of a request; by default a GET, or a POST with a body. */
interface RequestOptions {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Index of the replica; 0 by default. */
  readonly replica?: number;
}

/** An answer with its whole body. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Parses the body. @throws SyntaxError if it is not JSON. */
  json<Value = Record<string, unknown>>(): Value;
}

const readAndWrite = ['read:subscriptions', 'write:subscriptions'];

/** Replicas of the gpodder API in front of the shared services of the test run. */
export class GpodderFixture {
  readonly replicas: (Pick<AppProcess, 'facts'> & Partial<ServedApp>)[] = [];

  private constructor(
    private readonly base: Fixture,
    readonly stack: SharedStack,
    readonly owner: pg.Pool,
  ) {}

  /** Uses the shared replica. With settings or another count, starts replicas in this process. */
  static async open(
    environment: Readonly<Record<string, string>> = {},
    count = 1,
  ): Promise<GpodderFixture> {
    const stack = await SharedStack.open();
    const base = new Fixture();
    const owner = new pg.Pool({ connectionString: stack.postgres.url, max: 2 });
    base.onClose(() => owner.end());
    const fixture = new GpodderFixture(base, stack, owner);
    if (Object.keys(environment).length === 0 && count === 1)
      fixture.replicas.push(stack.app('gpodder'));
    else
      while (fixture.replicas.length < count)
        fixture.replicas.push(await fixture.startReplica(environment));
    return fixture;
  }

  /** Starts a further replica in this process. */
  async startReplica(environment: Readonly<Record<string, string>> = {}): Promise<ServedApp> {
    const variables = { PORT: '0', ...this.stack.variables('gpodder'), ...environment };
    const [log, config] = [createLog('gpodder', 'silent'), loadConfig(gpodderConfig, variables)];
    return this.base.httpApp(async () => {
      const connections = openConnections(config, log, services);
      return [await compose(config, log, connections), { config, log, connections }];
    });
  }

  /** Creates an account and an app password with these scopes. */
  async user(scopes = readAndWrite, name = `ann-${randomUUID()}`): Promise<GpodderUser> {
    const userId = randomUUID();
    await this.owner.query('INSERT INTO account.accounts (id, name) VALUES ($1, $2)', [
      userId,
      name,
    ]);
    return this.withNewPassword({ userId, name }, scopes);
  }

  /** Creates a further app password of an account. */
  async withNewPassword(
    { userId, name }: Pick<GpodderUser, 'userId' | 'name'>,
    scopes = readAndWrite,
  ): Promise<GpodderUser> {
    const { secret, hash } = makeAppPassword();
    await this.owner.query(
      `INSERT INTO account.credentials (id, account_id, hash, label, scopes)
       VALUES ($1, $2, $3, 'a phone', $4)`,
      [randomUUID(), userId, Buffer.from(hash, 'base64url'), scopes],
    );
    return new GpodderUser(this, userId, name, secret);
  }

  /** Returns the URLs of a user's feeds in the database, subscribed or not. */
  async storedFeeds({ userId }: GpodderUser): Promise<string[]> {
    const { rows } = await this.owner.query<{ feed_url: string }>(
      'SELECT feed_url FROM subscription.subscriptions WHERE user_id = $1',
      [userId],
    );
    return rows.map(({ feed_url }) => feed_url);
  }

  /** Returns a metric of the first replica, which must run in this process. */
  async metric(series: string): Promise<number> {
    const [line] = (await this.replicas[0]?.metrics?.(`${series} `)) ?? [];
    return Number(line?.slice(series.length) ?? 0);
  }

  /** Sends a request without a credential. */
  async request(
    path: string,
    { method, body, headers = {}, replica = 0 }: RequestOptions = {},
  ): Promise<Answer> {
    const sent =
      body === undefined || typeof body === 'string' || body instanceof Buffer
        ? body
        : JSON.stringify(body);
    const answer = await fetch(
      `http://127.0.0.1:${String(this.replicas[replica]?.facts['port'])}${path}`,
      {
        method: method ?? (body === undefined ? 'GET' : 'POST'),
        headers,
        redirect: 'manual',
        ...(sent !== undefined && { body: typeof sent === 'string' ? sent : new Uint8Array(sent) }),
      },
    );
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, text, json: () => JSON.parse(text) };
  }

  async close(): Promise<void> {
    await this.base.close();
  }
}

/** A user with an app password, and the cookie of its client. */
export class GpodderUser {
  /** The `Cookie` header after {@link logIn}; empty before. */
  cookie = '';

  constructor(
    private readonly fixture: GpodderFixture,
    readonly userId: string,
    readonly name: string,
    readonly secret: string,
  ) {}

  /** Returns the `Authorization` header for Basic. */
  get basic(): string {
    return `Basic ${Buffer.from(`${this.name}:${this.secret}`).toString('base64')}`;
  }

  /** Sends a request with Basic. Replaces `{u}` in the path by the user's name. */
  request(path: string, options: RequestOptions = {}): Promise<Answer> {
    const headers = { authorization: this.basic, ...options.headers };
    return this.fixture.request(path.replace('{u}', this.name), { ...options, headers });
  }

  /** Logs in with Basic, and keeps the cookie. */
  async logIn(): Promise<this> {
    this.cookie = cookieOf(await this.request('/api/2/auth/{u}/login.json', { method: 'POST' }));
    return this;
  }

  /** Sends a request with the cookie and without Basic. */
  requestByCookie(path: string, options: RequestOptions = {}): Promise<Answer> {
    const headers = { cookie: this.cookie, ...options.headers };
    return this.fixture.request(path.replace('{u}', this.name), { ...options, headers });
  }
}

/** Returns the `Cookie` header for the cookie that an answer sets; empty if it sets none. */
export function cookieOf({ headers }: Answer): string {
  return headers.get('set-cookie')?.split(';', 1)[0] ?? '';
}
