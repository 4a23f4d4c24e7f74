import type { Attack } from './attack.js';

const holdMs = 4_000;

/** Attacks by long-lived change streams. */
export const streamAttacks: readonly Attack[] = [
  {
    name: '2,000 streams of changes of one user that nobody reads',
    prepare: (attacker) => {
      const bytes = attacker.bytes({ target: '/changes' });
      return () => attacker.hold(2_000, () => bytes, holdMs);
    },
  },
  {
    name: '2,000 streams of changes, no token',
    prepare: (attacker) => {
      const bytes = attacker.bytes({ target: '/changes', token: null });
      return () => attacker.hold(2_000, () => bytes, holdMs);
    },
  },
  {
    name: '500 connections with four pipelined streams of changes each, whose user writes',
    prepare: (attacker) => {
      const line = attacker.bytes({ target: '/changes', keepAlive: true });
      const bytes = Buffer.concat(Array.from({ length: 4 }, () => line));
      const body = Buffer.from('{"subscriptions": [{"feed_url": "https://feeds.example/1"}]}');
      const write = attacker.bytes({ method: 'POST', target: '/subscriptions', body });
      return () =>
        Promise.all([attacker.hold(500, () => bytes, holdMs), attacker.flood(500, 4, () => write)]);
    },
  },
];
