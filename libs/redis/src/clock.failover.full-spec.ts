import { randomUUID } from 'node:crypto';
import { eventually } from '#testing';
import { describe, expect, it } from 'vitest';
import { RedisGroup } from '../../transport/testing/redis.group.js';
import { ClockHints, clockChannel } from './clock.hints.js';
import { ClockListener } from './clock.listener.js';
import { createLog } from '#runtime';
import { connectRedis, redisConfig } from './redis.connection.js';

const log = createLog('test', 'silent');
/** Time limit for the election and discovery of another server. */
const failoverMs = 60_000;

describe.each(['cluster', 'sentinels'] as const)('Redis with %s', (kind) => {
  it(
    'is heard, also after a master was killed, and what may have been missed is said',
    { timeout: 180_000 },
    async () => {
      const group = await RedisGroup[kind]();
      const connect = () => connectRedis(redisConfig.parse(group.environment));
      const heard = new Set<string>();
      let losses = 0;
      const events = { onHint: (user: string) => heard.add(user), onLost: () => (losses += 1) };
      const [ear, hints] = [
        new ClockListener(connect(), connect(), events, log),
        new ClockHints(connect(), log),
      ];
      const users = Array.from({ length: 20 }, () => randomUUID());
      const hearsAll = async () => {
        heard.clear();
        for (const user of users) await ear.listen(user);
        for (const user of users) hints.tell(user, '2026-01-01T00:00:00.000Z');
        await eventually(() => expect(heard.size).toBe(users.length), { timeout: 2_000 });
      };
      try {
        await eventually(hearsAll, { timeout: failoverMs });
        expect(losses).toBe(0);
        await group.killMasterOf(clockChannel(users[0]!));
        // In a Cluster, this process can be without a connection to the lost server.
        const least = kind === 'sentinels' ? 1 : 0;
        await eventually(() => expect(losses).toBeGreaterThanOrEqual(least), {
          timeout: failoverMs,
        });
        await eventually(hearsAll, { timeout: failoverMs });
      } finally {
        ear.close();
        hints.close();
        await group.dispose();
      }
    },
  );
});
