import { type Attack, bodyBytes, largeEpisode, subscribed, uploaded } from './attack.js';

const holdMs = 4_000;

/** Attacks by many or slow connections. */
export const connectionAttacks: readonly Attack[] = [
  {
    name: '2,000 connections that send nothing',
    prepare: (attacker) => () => attacker.hold(2_000, () => Buffer.alloc(0), holdMs),
  },
  {
    name: '500 heads that trickle, no token',
    prepare: (attacker) => () =>
      attacker.trickle(
        500,
        Buffer.from('GET /subscriptions HTTP/1.1\r\nHost: a.example\r\nX: '),
        'a',
        holdMs,
      ),
  },
  {
    name: '500 bodies in chunks that trickle',
    prepare: (attacker) => {
      const head = attacker.bytes({
        method: 'POST',
        target: '/episodes',
        headers: ['Transfer-Encoding: chunked', 'Content-Type: application/json'],
      });
      return () => attacker.trickle(500, head, '1\r\n \r\n', holdMs);
    },
  },
  {
    name: '150 bodies of 2 MB whose last byte does not come, no token',
    prepare: (attacker) => {
      const body = Buffer.alloc(bodyBytes, ' ');
      const whole = attacker.bytes({ method: 'POST', target: '/episodes', body, token: null });
      return () => attacker.hold(150, () => whole.subarray(0, -1), holdMs);
    },
  },
  {
    name: '150 bodies of 2 MB whose last byte does not come',
    prepare: (attacker) => {
      const whole = attacker.bytes({
        method: 'POST',
        target: '/episodes',
        body: Buffer.alloc(bodyBytes, ' '),
      });
      return () => attacker.hold(150, () => whole.subarray(0, -1), holdMs);
    },
  },
  {
    name: '5 connections with 2,000 pipelined requests each, no answer read',
    prepare: (attacker) => {
      const line = attacker.bytes({ target: '/subscriptions', keepAlive: true });
      const bytes = Buffer.concat(Array.from({ length: 2_000 }, () => line));
      return () => attacker.hold(5, () => bytes, holdMs);
    },
  },
  {
    name: '5 connections with 2,000 pipelined requests each, no token',
    prepare: (attacker) => {
      const line = attacker.bytes({ target: '/subscriptions', keepAlive: true, token: null });
      const bytes = Buffer.concat(Array.from({ length: 2_000 }, () => line));
      return () => attacker.hold(5, () => bytes, holdMs);
    },
  },
  {
    name: '200 connections with 2,000 of the smallest pipelined requests each',
    prepare: (attacker) => {
      const bytes = Buffer.from('GET / HTTP/1.1\r\nHost:\r\n\r\n'.repeat(2_000));
      return () => attacker.hold(200, () => bytes, holdMs);
    },
  },
  {
    name: '200 connections with 2,000 pipelined requests each with an unknown Expect',
    prepare: (attacker) => {
      const bytes = Buffer.from('GET / HTTP/1.1\r\nHost:\r\nExpect: x\r\n\r\n'.repeat(2_000));
      return () => attacker.hold(200, () => bytes, holdMs);
    },
  },
  {
    name: '1,000 connections that all send a request in the same moment',
    prepare: (attacker) => {
      const bytes = Buffer.from('GET / HTTP/1.1\r\nHost:\r\n\r\n');
      return () => attacker.burst(1_000, bytes, holdMs);
    },
  },
  {
    name: '200 connections with 32 pipelined requests of 15 kB each',
    prepare: (attacker) => {
      const line = attacker.bytes({
        target: '/deletions/1',
        headers: [`X: ${'x'.repeat(15_000)}`],
        keepAlive: true,
      });
      const bytes = Buffer.concat(Array.from({ length: 32 }, () => line));
      return () => attacker.hold(200, () => bytes, holdMs);
    },
  },
  {
    name: '200 large pages that nobody reads',
    prepare: async (attacker) => {
      const [guid = ''] = await subscribed(attacker, 1);
      await uploaded(
        attacker,
        Array.from({ length: 500 }, (_, n) => largeEpisode(guid, n)),
      );
      const bytes = attacker.bytes({ target: '/episodes?per_page=1000' });
      return () => attacker.hold(200, () => bytes, holdMs);
    },
  },
  {
    name: '20 connections with 50 large pages each that nobody reads',
    prepare: async (attacker) => {
      const [guid = ''] = await subscribed(attacker, 1);
      await uploaded(
        attacker,
        Array.from({ length: 500 }, (_, n) => largeEpisode(guid, n)),
      );
      const line = attacker.bytes({ target: '/episodes?per_page=1000', keepAlive: true });
      const bytes = Buffer.concat(Array.from({ length: 50 }, () => line));
      return () => attacker.hold(20, () => bytes, holdMs);
    },
  },
];
