import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Device, Fixture, freshUser, type ServedApp, SharedStack, TokenIssuer } from '#testing';
import { Redis } from 'ioredis';
import { defaultBounds, type StreamBounds } from '../src/changes/change-streams.js';
import { ChangeReader } from './change-reader.js';
import { startGateway } from './gateway-app.js';

/** A gateway in the process of a test, with the shared services of the run. */
export class StreamFixture {
  private readonly readers: ChangeReader[] = [];
  private app: ServedApp | undefined;

  private constructor(
    private readonly fixture: Fixture,
    readonly stack: SharedStack,
    readonly redis: Redis,
    /** Issuer of the tokens, with keys of its own. */
    readonly issuer: TokenIssuer,
  ) {}

  static async open(): Promise<StreamFixture> {
    const fixture = new Fixture();
    const keys = mkdtempSync(join(tmpdir(), 'podcast-sync-keys-'));
    fixture.onClose(() => rmSync(keys, { recursive: true }));
    const [stack, issuer] = await Promise.all([SharedStack.open(), TokenIssuer.open(keys)]);
    const redis = new Redis(stack.redis.url);
    fixture.onClose(() => redis.disconnect());
    return new StreamFixture(fixture, stack, redis, issuer);
  }

  /** Starts a gateway with these settings and bounds, which runs until the end of the test. */
  async serve(
    settings: Record<string, string> = {},
    bounds: Partial<StreamBounds> = {},
  ): Promise<void> {
    const streams = { ...defaultBounds, checkMs: 20, mergeMs: 0, ...bounds };
    const own = { AUTH_JWKS_FILE: this.issuer.keySetFile, ...settings };
    const variables = { ...this.stack.variables('gateway'), ...own };
    this.app = await startGateway(this.fixture, variables, { streams });
  }

  get facts(): ServedApp['facts'] {
    return this.app?.facts ?? {};
  }

  get url(): string {
    return this.app?.url ?? '';
  }

  /** Publishes the stamp of a user's clock, as a service does. */
  async notify(user: string, stamp: string): Promise<number> {
    return this.redis.publish(`clock:${user}`, stamp);
  }

  async device(user = freshUser(), expires?: string): Promise<Device> {
    return new Device(
      this.url,
      await this.issuer.issue(user, expires === undefined ? {} : { expires }),
      user,
    );
  }

  /** Follows a device's changes. Resolves after the first stamp. */
  async follow(device: Device): Promise<ChangeReader> {
    const reader = await ChangeReader.follow(device, this);
    this.readers.push(reader);
    return reader;
  }

  async metric(name: string): Promise<number> {
    return Number((await this.app?.metrics(`${name} `))?.[0]?.split(' ')[1]);
  }

  /** Stops the gateway and its streams. */
  async stop(): Promise<void> {
    await this.app?.stop();
    for (const reader of this.readers.splice(0)) reader.leave();
  }

  async close(): Promise<void> {
    await this.stop();
    await this.fixture.close();
  }
}
