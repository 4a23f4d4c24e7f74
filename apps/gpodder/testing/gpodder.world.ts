import { randomUUID } from 'node:crypto';
import { makeAppPassword } from '#identity';
import { type AppProcess, Fixture, type ServedApp, SharedStack } from '#testing';
import pg from 'pg';
import { startGpodder } from './gpodder.app.js';

/** What a test asks: a path, and what it says of the request. */
interface Asked {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Of the replica to ask; the first one unless it is said. */
  readonly replica?: number;
}

/** An answer, read. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** @throws where it is no JSON. */
  json<Value = Record<string, unknown>>(): Value;
}

/** Replicas of the gpodder API in front of the services that the run shares. */
export class GpodderWorld {
  private constructor(
    private readonly fixture: Fixture,
    readonly stack: SharedStack,
    readonly gpodder: readonly (Pick<AppProcess, 'facts'> & Partial<ServedApp>)[],
    readonly owner: pg.Pool,
  ) {}

  static async open(
    environment: Readonly<Record<string, string>> = {},
    replicas = 1,
  ): Promise<GpodderWorld> {
    const stack = await SharedStack.open();
    const fixture = new Fixture();
    const gpodder = [];
    if (Object.keys(environment).length === 0 && replicas === 1) gpodder.push(stack.app('gpodder'));
    else
      for (let count = 0; count < replicas; count += 1)
        gpodder.push(
          await startGpodder(fixture, { ...stack.variables('gpodder'), ...environment }),
        );
    const owner = new pg.Pool({ connectionString: stack.postgres.url, max: 2 });
    fixture.onClose(() => owner.end());
    return new GpodderWorld(fixture, stack, gpodder, owner);
  }

  /** Runs one more gpodder API in the process of the test. */
  async start(environment: Readonly<Record<string, string>> = {}): Promise<ServedApp> {
    return startGpodder(this.fixture, { ...this.stack.variables('gpodder'), ...environment });
  }

  /** Somebody with an account, and an app password with these scopes. */
  async person(
    scopes = ['read:subscriptions', 'write:subscriptions'],
    name = `ann-${randomUUID()}`,
  ): Promise<Person> {
    const userId = randomUUID();
    await this.owner.query('INSERT INTO account.accounts (id, name) VALUES ($1, $2)', [
      userId,
      name,
    ]);
    return this.personOf(userId, name, scopes);
  }

  /** The same one with another app password. */
  async again(
    { userId, name }: Person,
    scopes = ['read:subscriptions', 'write:subscriptions'],
  ): Promise<Person> {
    return this.personOf(userId, name, scopes);
  }

  /** The feeds of somebody that the subscription service knows, subscribed to or not. */
  async knownFeeds({ userId }: Person): Promise<string[]> {
    const { rows } = await this.owner.query<{ feed_url: string }>(
      'SELECT feed_url FROM subscription.subscriptions WHERE user_id = $1',
      [userId],
    );
    return rows.map(({ feed_url }) => feed_url);
  }

  /** What the first replica has counted of a series; for one that runs in the process of the test. */
  async counted(series: string): Promise<number> {
    const [line] = (await this.gpodder[0]?.metrics?.(`${series} `)) ?? [];
    return Number(line?.slice(series.length) ?? 0);
  }

  async ask(
    path: string,
    { method, body, headers = {}, replica = 0 }: Asked = {},
  ): Promise<Answer> {
    const sent =
      body === undefined || typeof body === 'string' || body instanceof Buffer
        ? body
        : JSON.stringify(body);
    const answer = await fetch(
      `http://127.0.0.1:${String(this.gpodder[replica]?.facts['port'])}${path}`,
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
    await this.fixture.close();
  }

  private async personOf(userId: string, name: string, scopes: string[]): Promise<Person> {
    const { secret, hash } = makeAppPassword();
    await this.owner.query(
      `INSERT INTO account.credentials (id, account_id, hash, label, scopes) VALUES ($1, $2, $3, 'a phone', $4)`,
      [randomUUID(), userId, Buffer.from(hash, 'base64url'), scopes],
    );
    return new Person(this, userId, name, secret);
  }
}

/** Somebody with an app password, and the client that has it. */
export class Person {
  /** As a client that keeps cookies has it; empty where it has none. */
  cookie = '';

  constructor(
    private readonly world: GpodderWorld,
    readonly userId: string,
    readonly name: string,
    readonly secret: string,
  ) {}

  /** The header that Basic takes. */
  get basic(): string {
    return `Basic ${Buffer.from(`${this.name}:${this.secret}`).toString('base64')}`;
  }

  /** Asks with Basic; `{u}` in a path is the name. */
  ask(path: string, asked: Asked = {}): Promise<Answer> {
    const headers = { authorization: this.basic, ...asked.headers };
    return this.world.ask(path.replace('{u}', this.name), { ...asked, headers });
  }

  /** Logs in with Basic and keeps the cookie. */
  async logIn(): Promise<this> {
    const answer = await this.ask('/api/2/auth/{u}/login.json', { method: 'POST' });
    this.cookie = cookieOf(answer);
    return this;
  }

  /** Asks with the cookie alone. */
  askByCookie(path: string, asked: Asked = {}): Promise<Answer> {
    const headers = { cookie: this.cookie, ...asked.headers };
    return this.world.ask(path.replace('{u}', this.name), { ...asked, headers });
  }
}

/** The cookie that an answer sets, as a client returns it; empty where it sets none. */
export function cookieOf({ headers }: Answer): string {
  return headers.get('set-cookie')?.split(';', 1)[0] ?? '';
}
