import { readFileSync } from 'node:fs';
import { serverStopLimitMs } from '#embedded';
import { stopLimitMs } from '#runtime';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { defaultTimings } from '../libs/transport/testing/internals.js';
import { redisCloseLimitMs } from './deletion-worker/src/deletion-processor.js';
import { cascadeLimitMs } from './deletion-worker/src/records/deletion.service.js';
import { gatewayConfig } from './gateway/src/gateway.config.js';
import { killAfterMs as supervisorLimitMs } from './standalone/src/app-process.js';

const servers = ['edge', 'subscription', 'episode', 'deletion-worker', 'feed'];

it('an app stops waiting only after its longest operation', () => {
  const { drainGraceMs, drainMs } = defaultTimings;
  expect(stopLimitMs).toBeGreaterThan(cascadeLimitMs + redisCloseLimitMs);
  expect(stopLimitMs).toBeGreaterThan(drainGraceMs + drainMs);
  const drain = (seconds: string) => gatewayConfig.shape.DRAIN_SECONDS.safeParse(seconds).success;
  expect([drain(String(stopLimitMs / 1_000 - 10)), drain(String(stopLimitMs / 1_000))]).toEqual([
    true,
    false,
  ]);
});

it("the supervisor waits longer than the time limit of an app's stop", () => {
  expect(supervisorLimitMs).toBeGreaterThan(stopLimitMs);
});

it.each(servers)('docker-compose waits longer for %s', (app) => {
  const file = parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true }) as {
    services: Record<string, { stop_grace_period?: string }>;
  };
  expect(Number.parseInt(file.services[app]?.stop_grace_period ?? '', 10) * 1_000).toBeGreaterThan(
    stopLimitMs,
  );
});

describe('systemd', () => {
  const unit = readFileSync('docs/examples/home/podcast-sync.service', 'utf8');
  const secondsOf = (setting: string) =>
    Number(new RegExp(`^${setting}=(\\d+)$`, 'm').exec(unit)?.[1]);

  it('waits longer than the supervisor stops edge, services, Redis and Postgres', () => {
    const limitMs = 2 * supervisorLimitMs + 2 * serverStopLimitMs;
    expect(secondsOf('TimeoutStopSec') * 1_000).toBeGreaterThan(limitMs);
  });

  it('restarts without limit, as five restarts take longer than ten seconds', () => {
    // The defaults of StartLimitBurst and StartLimitIntervalSec.
    expect(secondsOf('RestartSec') * 5).toBeGreaterThan(10);
  });

  it('does not restart after invalid options or settings', () => {
    expect(unit).toMatch(/^RestartPreventExitStatus=2 78$/m);
  });
});
