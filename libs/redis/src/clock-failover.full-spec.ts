import { randomUUID } from 'node:crypto';
import { eventually } from '#testing';
import { describe, expect, it } from 'vitest';
import { RedisGroup } from '../../transport/testing/redis-group.js';
import { ClockNotifier, clockChannel } from './clock-notifier.js';
import { ClockSubscriptions } from './clock-subscriptions.js';
import { createLog } from '#runtime';
import { connectRedis, redisConfig } from './redis-connection.js';

const log = createLog('test', 'silent');
/** Time limit for the election and discovery of another server. */
const failoverMs = 60_000;

describe.each(['cluster', 'sentinels'] as const)('Redis with %s', (kind) => {
  it(
    'delivers notifications, also after a failover, and reports a possible loss',
    { timeout: 180_000 },
    async () => {
      const group = await RedisGroup[kind]();
      const connect = () => connectRedis(redisConfig.parse(group.environment));
      const notified = new Set<string>();
      let losses = 0;
      const events = {
        onNotification: (user: string) => notified.add(user),
        onReconnected: () => (losses += 1),
      };
      const [subscriptions, notifier] = [
        new ClockSubscriptions(connect(), connect(), events, log),
        new ClockNotifier(connect(), log),
      ];
      const users = Array.from({ length: 20 }, () => randomUUID());
      const expectAll = async () => {
        notified.clear();
        for (const user of users) await subscriptions.subscribe(user);
        for (const user of users) notifier.notify(user, '2026-01-01T00:00:00.000Z');
        await eventually(() => expect(notified.size).toBe(users.length), { timeout: 2_000 });
      };
      try {
        await eventually(expectAll, { timeout: failoverMs });
        expect(losses).toBe(0);
        await group.killMasterOf(clockChannel(users[0]!));
        // In a Cluster, this process can be without a connection to the lost server.
        const least = kind === 'sentinels' ? 1 : 0;
        await eventually(() => expect(losses).toBeGreaterThanOrEqual(least), {
          timeout: failoverMs,
        });
        await eventually(expectAll, { timeout: failoverMs });
      } finally {
        subscriptions.close();
        notifier.close();
        await group.dispose();
      }
    },
  );
});
