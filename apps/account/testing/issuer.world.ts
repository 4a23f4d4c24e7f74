import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KeyFiles } from '#embedded';
import {
  createDatabase,
  startRedisServer,
  TcpProxy,
  type TestDatabase,
  type TestServer,
} from '#testing';
import pg from 'pg';
import { accountConfig } from '../src/account.config.js';
import { Devices } from '../src/issuer/devices.js';
import { Interactions } from '../src/issuer/interactions.js';
import { Issuer } from '../src/issuer/issuer.js';
import { IssuerModule } from '../src/issuer/issuer.module.js';
import { Sessions } from '../src/people/sessions.js';
import { type AccountParts, revokedIn, startParts } from './account.parts.js';
import { BrowserVisit } from './browser.visit.js';

/** The resource that tokens are for. */
export const apiUrl = 'https://api.example';

/** Where {@link IssuerWorld} says who it is that allows something: in the place of a page and a session. */
const asAccount = 'x-account';
/** The address that a request is to come from, if not this machine. */
export const fromAddress = 'x-address';

/**
 * Replicas of the issuer on a database and a Redis of their own, behind one origin that gives each request to the next
 * one. What pages do is done by a header that names the account. Only in the `int` tier.
 */
export class IssuerWorld {
  readonly replicas: AccountParts[] = [];
  private turn = 0;

  private constructor(
    readonly url: string,
    /** May look at and prepare everything. */
    readonly owner: pg.Client,
    readonly keys: string,
    readonly postgres: TcpProxy,
    readonly database: TestDatabase,
    readonly redis: TestServer,
    private readonly server: Server,
    private readonly settings: Partial<Record<string, string>>,
  ) {}

  static async open(
    settings: Partial<Record<string, string>> = {},
    replicas = 2,
  ): Promise<IssuerWorld> {
    const [database, redis] = await Promise.all([createDatabase(), startRedisServer()]);
    const owner = new pg.Client({ connectionString: database.ownerUrl });
    await owner.connect();
    const keys = mkdtempSync(join(tmpdir(), 'podcast-sync-issuer-'));
    await KeyFiles.open(keys);
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const postgres = await TcpProxy.to(database.urls.account);
    const world = new IssuerWorld(url, owner, keys, postgres, database, redis, server, settings);
    for (let count = 0; count < replicas; count++) await world.startReplica();
    server.on('request', (request, response) => world.answer(request, response));
    return world;
  }

  private async startReplica(): Promise<void> {
    const config = accountConfig.parse({
      DATABASE_URL: this.postgres.url,
      REDIS_URL: this.redis.url,
      PUBLIC_URL: this.url,
      SECRETS_KEY: 'a-secret-of-tests-which-is-long-enough',
      KEYS_DIRECTORY: this.keys,
      API_URLS: `${apiUrl},https://other.example`,
      MAX_TOKEN_REQUESTS: '100000',
      MAX_AUTHORIZE_REQUESTS: '100000',
      MAX_REGISTRATIONS: '100000',
      ...this.settings,
    });
    // Longer than usual: limits are to be counted there, however busy the machine is.
    const servers = {
      databaseUrl: config.DATABASE_URL,
      redisUrl: this.redis.url,
      commandTimeout: 10_000,
    };
    this.replicas.push(await startParts(config, servers, [IssuerModule]));
  }

  /** A part of the first replica. */
  get<Part>(type: abstract new (...parts: never[]) => Part): Part {
    return (this.replicas[0] as AccountParts).app.get(type as new () => Part);
  }

  /** A person who may sign in. */
  async account(): Promise<string> {
    const id = randomUUID();
    await this.owner.query('INSERT INTO account.accounts (id, name) VALUES ($1, $2)', [
      id,
      `p-${id.slice(0, 8)}`,
    ]);
    return id;
  }

  /** A browser in which this person is signed in, or none. */
  browser(accountId?: string): BrowserVisit {
    return new BrowserVisit(accountId === undefined ? {} : { [asAccount]: accountId });
  }

  /** What was revoked so far, as `kind:id`. */
  async revoked(): Promise<string[]> {
    return revokedIn((this.replicas[0] as AccountParts).redis);
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await Promise.all(this.replicas.map((replica) => replica.close()));
    await this.owner.end();
    await this.postgres.close();
    await Promise.all([this.database.drop(), this.redis.dispose()]);
    rmSync(this.keys, { recursive: true, force: true });
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    const replica = this.replicas[this.turn++ % this.replicas.length] as AccountParts;
    const { url = '/', method = 'GET' } = request;
    const call = {
      url,
      method,
      ip: String(request.headers[fromAddress] ?? '127.0.0.1'),
      id: randomUUID(),
    };
    const handedOver = replica.app.get(Issuer).listener(call);
    if (handedOver) return void handedOver.listen(request, response);
    void decide(replica, request, response).catch(() => response.writeHead(500).end());
  }
}

/** What a page does: shows what waits, allows it or not. */
async function decide(
  replica: AccountParts,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://test');
  const send = (body: unknown) =>
    response.writeHead(body ? 200 : 404).end(JSON.stringify(body ?? null));
  const approver = async () => {
    const accountId = String(request.headers[asAccount]);
    const visitor = { address: '', userAgent: '' };
    const session =
      request.headers[asAccount] && (await replica.app.get(Sessions).begin(accountId, visitor));
    return { accountId, sessionId: session ? session.id : '', authenticatedAt: new Date() };
  };
  const isNo = searchParams.has('deny');
  if (pathname.startsWith('/interaction/')) {
    const interactions = replica.app.get(Interactions);
    if (request.method === 'GET') return void send(await interactions.find(request, response));
    if (isNo) return void send(await interactions.deny(request, response));
    return void send(await interactions.allow(request, response, await approver()));
  }
  if (pathname === '/device') {
    const devices = replica.app.get(Devices);
    const code = searchParams.get('user_code') ?? '';
    if (request.method === 'GET') return void send(await devices.find(code, '127.0.0.1'));
    return void send(isNo ? await devices.deny(code) : await devices.allow(code, await approver()));
  }
  send(undefined);
}
