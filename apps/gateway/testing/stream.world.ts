import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TokenIssuer } from '#embedded';
import { createLog, loadConfig, type Running } from '#runtime';
import { AppStack, Device, freshUser } from '#testing';
import { Redis } from 'ioredis';
import { register } from 'prom-client';
import { type StreamBounds, usualBounds } from '../src/changes/change.streams.js';
import { gatewayConfig } from '../src/gateway.config.js';
import { serve } from '../src/serve.js';
import { ChangeReader } from './change.reader.js';

/** A gateway of a test, in its own process, with a service behind it. */
export class StreamWorld {
  private readonly readers: ChangeReader[] = [];
  private running: Running | undefined;

  private constructor(
    readonly stack: AppStack,
    readonly redis: Redis,
    readonly issuer: TokenIssuer,
    private readonly keys: string,
  ) {}

  static async open(): Promise<StreamWorld> {
    const keys = mkdtempSync(join(tmpdir(), 'podcast-sync-keys-'));
    const [stack, issuer] = await Promise.all([AppStack.open(), TokenIssuer.open(keys)]);
    await stack.start(['subscription']);
    return new StreamWorld(stack, new Redis(stack.redis.url), issuer, keys);
  }

  /** Serves with these settings and bounds, until the end of the test. */
  async serve(settings: Record<string, string> = {}, bounds: Partial<StreamBounds> = {}): Promise<void> {
    // One process has one of each metric.
    register.clear();
    const variables = {
      PORT: '0',
      REDIS_URL: this.stack.redis.url,
      AUTH_JWKS_FILE: this.issuer.keySetFile,
      AUTH_ISSUER: TokenIssuer.issuer,
      AUTH_AUDIENCE: TokenIssuer.audience,
      ...settings,
    };
    const streams = { ...usualBounds, turnMs: 20, joinMs: 0, ...bounds };
    this.running = await serve(loadConfig(gatewayConfig, variables), createLog('gateway', 'silent'), { streams });
  }

  get facts(): Readonly<Record<string, unknown>> {
    return this.running?.facts ?? {};
  }

  get url(): string {
    return `http://127.0.0.1:${String(this.facts['port'])}`;
  }

  /** Says where a user's clock is, as a service does. */
  async hint(user: string, stamp: string): Promise<number> {
    return this.redis.publish(`clock:${user}`, stamp);
  }

  async device(user = freshUser(), expires?: string): Promise<Device> {
    return new Device(this.url, await this.issuer.issue(user, expires === undefined ? {} : { expires }), user);
  }

  /** Follows a device's changes, having heard the first stamp. */
  async follow(device: Device): Promise<ChangeReader> {
    const reader = await ChangeReader.of(device, this);
    this.readers.push(reader);
    return reader;
  }

  async metric(name: string): Promise<number> {
    const line = (await register.metrics()).split('\n').find((one) => one.startsWith(`${name} `));
    return Number(line?.split(' ')[1]);
  }

  /** Stops what {@link serve} began. */
  async stop(): Promise<void> {
    const stopped = this.running?.stop();
    this.running = undefined;
    await stopped;
    for (const reader of this.readers.splice(0)) reader.leave();
  }

  async close(): Promise<void> {
    await this.stop();
    this.redis.disconnect();
    await this.stack.close();
    rmSync(this.keys, { recursive: true });
  }
}
