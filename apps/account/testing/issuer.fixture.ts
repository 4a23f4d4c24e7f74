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
import { DeviceAuthorizations } from '../src/issuer/device-authorizations.js';
import { Interactions } from '../src/issuer/interactions.js';
import { Issuer } from '../src/issuer/issuer.js';
import { IssuerModule } from '../src/issuer/issuer.module.js';
import { Sessions } from '../src/people/sessions.js';
import { type AccountModules, readRevocations, startModules } from './account-modules.js';
import { HttpBrowser } from './http-browser.js';

/** Resource of issued tokens. */
export const apiUrl = 'https://api.example';

/** Header with the id of the account that decides, instead of a page and a session. */
const accountHeader = 'x-account';
/** Header with the client address of a request; default: this machine. */
export const addressHeader = 'x-address';

/**
 * Replicas of the issuer with their own database and Redis. One HTTP server passes each request to
 * the next replica. Instead of pages, a header names the account that decides. Only for the `int`
 * tier.
 */
export class IssuerFixture {
  readonly replicas: AccountModules[] = [];
  private requests = 0;

  private constructor(
    readonly url: string,
    /** Connection with all rights. */
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
  ): Promise<IssuerFixture> {
    const [database, redis] = await Promise.all([createDatabase(), startRedisServer()]);
    const owner = new pg.Client({ connectionString: database.ownerUrl });
    await owner.connect();
    const keys = mkdtempSync(join(tmpdir(), 'podcast-sync-issuer-'));
    await KeyFiles.open(keys);
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const postgres = await TcpProxy.to(database.urls.account);
    const fixture = new IssuerFixture(
      url,
      owner,
      keys,
      postgres,
      database,
      redis,
      server,
      settings,
    );
    for (let count = 0; count < replicas; count++) await fixture.startReplica();
    server.on('request', (request, response) => fixture.answer(request, response));
    return fixture;
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
    // A long timeout, so that Redis counts the limits even on a busy machine.
    const servers = {
      databaseUrl: config.DATABASE_URL,
      redisUrl: this.redis.url,
      commandTimeout: 10_000,
    };
    this.replicas.push(await startModules(config, servers, [IssuerModule]));
  }

  /** Returns a Nest provider of the first replica. */
  get<Part>(type: abstract new (...parts: never[]) => Part): Part {
    return (this.replicas[0] as AccountModules).app.get(type as new () => Part);
  }

  /** Creates an account. @returns its id. */
  async account(): Promise<string> {
    const id = randomUUID();
    await this.owner.query('INSERT INTO account.accounts (id, name) VALUES ($1, $2)', [
      id,
      `p-${id.slice(0, 8)}`,
    ]);
    return id;
  }

  /** Returns an HTTP client that decides for an account; undefined for a client without account. */
  browser(accountId?: string): HttpBrowser {
    return new HttpBrowser(accountId === undefined ? {} : { [accountHeader]: accountId });
  }

  /** Returns all revocations as `kind:id`. */
  async revoked(): Promise<string[]> {
    return readRevocations((this.replicas[0] as AccountModules).redis);
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
    const replica = this.replicas[this.requests++ % this.replicas.length] as AccountModules;
    const { url = '/', method = 'GET' } = request;
    const call = {
      url,
      method,
      ip: String(request.headers[addressHeader] ?? '127.0.0.1'),
      id: randomUUID(),
    };
    const handedOver = replica.app.get(Issuer).handlerFor(call);
    if (handedOver) return void handedOver.listen(request, response);
    void decide(replica, request, response).catch(() => response.writeHead(500).end());
  }
}

/** Replaces the pages: returns a pending request, or allows or denies it. */
async function decide(
  replica: AccountModules,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://test');
  const send = (body: unknown) =>
    response.writeHead(body ? 200 : 404).end(JSON.stringify(body ?? null));
  const consentingUser = async () => {
    const accountId = String(request.headers[accountHeader]);
    const visitor = { address: '', userAgent: '' };
    const session =
      request.headers[accountHeader] &&
      (await replica.app.get(Sessions).startSession(accountId, visitor));
    return { accountId, sessionId: session ? session.id : '', authenticatedAt: new Date() };
  };
  const isDenied = searchParams.has('deny');
  if (pathname.startsWith('/interaction/')) {
    const interactions = replica.app.get(Interactions);
    if (request.method === 'GET')
      return void send(await interactions.findAuthorizationRequest(request, response));
    if (isDenied) return void send(await interactions.denyRequest(request, response));
    return void send(await interactions.allowRequest(request, response, await consentingUser()));
  }
  if (pathname === '/device') {
    const devices = replica.app.get(DeviceAuthorizations);
    const code = searchParams.get('user_code') ?? '';
    if (request.method === 'GET')
      return void send(await devices.findAuthorizationRequest(code, '127.0.0.1'));
    return void send(
      isDenied
        ? await devices.denyRequest(code)
        : await devices.allowRequest(code, await consentingUser()),
    );
  }
  send(undefined);
}
