import assert from 'node:assert/strict';
import { expect } from 'vitest';
import {
  type App,
  type AppProcess,
  AppStack,
  type Device,
  type DeviceAnswer,
  eventually,
} from '#testing';
import { Traffic } from './traffic.js';

type Service = Exclude<App, 'gateway'>;

const services: readonly Service[] = ['subscription', 'episode', 'deletion-worker'];

/** A read for each service, with its status for a new user. */
export const probes = {
  subscription: ['/subscriptions', 200],
  episode: ['/episodes', 200],
  deletion: ['/deletions/1', 404],
} as const;

/** Limit of an immediate answer in milliseconds, with a reserve for busy machines. */
const atOnceMs = 3_000;
/** Limit of any answer in milliseconds: every contract has 5 s, plus a reserve. */
export const deadlineMs = 15_000;
/** Limit of a recovery in milliseconds; it usually takes two seconds. */
const healMs = 30_000;

/** The whole system, two processes of each app, and users who read and write without a pause. */
export class FaultStack {
  replicas: AppProcess[] = [];

  private constructor(
    readonly stack: AppStack,
    readonly gateways: readonly AppProcess[],
  ) {}

  /** Starts it. The queue has its own Redis, as in production, and Postgres loses no commit. */
  static async open(options: { durableRedis?: boolean } = {}) {
    const stack = await AppStack.open({ ...options, durablePostgres: true, ownQueue: true });
    const faults = new FaultStack(
      stack,
      await stack.start(['gateway', 'gateway']).catch(async (error: unknown) => {
        await stack.close();
        throw error;
      }),
    );
    await faults.complete();
    return faults;
  }

  /** Restarts missing replicas up to two of each service, and waits for the recovery. */
  async complete(): Promise<void> {
    const alive = services.flatMap((app) => this.alive(app));
    const missing = services.flatMap((app) =>
      Array.from({ length: 2 - this.alive(app).length }, () => app),
    );
    this.replicas = [...alive, ...(await this.stack.start(missing))];
    await this.heal();
  }

  /** Waits until every service answers through every gateway. */
  async heal(): Promise<number> {
    const start = performance.now();
    for (const gateway of this.gateways.filter(({ hasExited }) => !hasExited)) {
      const device = await this.stack.device(gateway);
      await eventually(async () => assert.deepEqual(await this.statuses(device), [200, 200, 404]), {
        timeout: healMs,
      });
    }
    return Math.round(performance.now() - start);
  }

  alive(app: Service): AppProcess[] {
    return this.replicas.filter((replica) => replica.app === app && !replica.hasExited);
  }

  /** One of the two replicas of each service. */
  oneOfEach(): AppProcess[] {
    return services.map((app) => this.alive(app)[0] as AppProcess);
  }

  /** Users at both gateways. */
  async traffic(users = 6, gateways = this.gateways): Promise<Traffic> {
    const at = (n: number) => gateways[n % gateways.length] as AppProcess;
    const devices = Array.from({ length: users }, (_, n) => this.stack.device(at(n)));
    return new Traffic(await Promise.all(devices));
  }

  /** The answers of each service to a device. */
  async ask(device: Device): Promise<DeviceAnswer[]> {
    return Promise.all(Object.values(probes).map(([path]) => device.send('GET', path)));
  }

  /** Expects that no process exited unexpectedly. */
  expectAllAlive(): void {
    const ended = [...this.gateways, ...this.replicas].filter(({ hasExited }) => hasExited);
    assert.deepEqual(
      ended.map(({ app }) => app),
      [],
    );
  }

  /** Runs a fault during reads and writes, and expects no hanging, failed or lost request. */
  async underTraffic(name: string, fault: (traffic: Traffic) => Promise<void>): Promise<Traffic> {
    const traffic = await this.traffic();
    await traffic.continueFor();
    await fault(traffic);
    const healedMs = await this.heal();
    await traffic.continueFor();
    await traffic.stop();
    const { exchanges, failed, longestMs } = traffic;
    console.log(
      `${name}: ${exchanges.length} requests, ${failed.length} refused, ` +
        `the longest took ${Math.round(longestMs)} ms, ` +
        `all well after ${healedMs} ms`,
    );
    assert.deepEqual(traffic.unclean, [], this.errors());
    assert.deepEqual(traffic.late, [], 'answered after the deadline');
    return traffic;
  }

  /** Expects that requests to every service are refused immediately. */
  async expectAllRefused(): Promise<void> {
    const device = await this.stack.device(this.gateways[0] as AppProcess);
    for (const answer of await this.ask(device)) expectRefused(answer);
  }

  /** The errors that the processes logged, as they explain a 500. */
  errors(): string {
    const lines = [...this.gateways, ...this.replicas].flatMap(({ output }) => output.split('\n'));
    return lines.filter((line) => /"level":"?(50|60|error|fatal)/.test(line)).join('\n');
  }

  private async statuses(device: Device): Promise<number[]> {
    return (await this.ask(device)).map(({ status }) => status);
  }
}

/** Expects a 503 with Retry-After. */
export function expectRefused(answer: DeviceAnswer, withinMs = atOnceMs): void {
  expect(answer.status).toBe(503);
  expect(answer.headers.get('retry-after')).toMatch(/^[1-5]$/);
  expect(answer.body).toEqual({ code: '503', message: 'Service unavailable' });
  expect(answer.tookMs).toBeLessThan(withinMs);
}
