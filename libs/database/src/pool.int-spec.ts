import type { Pool, PoolClient } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDatabase, type TestDatabase } from '#testing';
import { createPool } from './pool.js';

let testDatabase: TestDatabase;
let pool: Pool;
let session: PoolClient;

beforeAll(async () => {
  testDatabase = await createDatabase();
  pool = createPool({ url: testDatabase.urls.episode, poolSize: 1 });
  session = await pool.connect();
});

afterAll(async () => {
  session.release();
  await pool.end();
  await testDatabase.drop();
});

async function stampOf(time: string, zone: string): Promise<unknown> {
  await session.query(`SET TIME ZONE '${zone}'`);
  const { rows } = await session.query<{ at: unknown }>('SELECT $1::timestamptz AS at', [time]);
  return rows[0]?.at;
}

/** Time zones: UTC, ahead of it by a half hour more, behind it, and equal to it in winter only. */
describe.each(['UTC', 'Asia/Kolkata', 'America/St_Johns', 'Europe/London'])(
  'a time stamp of a session in %s',
  (zone) => {
    it.each([
      '2026-01-01T00:00:00Z',
      '2026-01-01T10:00:00.5Z',
      '2026-07-01T23:59:59.009Z',
      '2026-01-01T10:00:00.010Z',
      '2026-01-01T10:00:00.123999Z',
      '2026-01-01T10:00:00.000999Z',
      '2024-02-29T23:45:00.999999Z',
      '1969-12-31T23:59:59.001Z',
      '0001-01-01T12:00:00Z',
      '9999-12-31T12:59:59.999Z',
    ])('is in UTC with milliseconds, cut and not rounded: %s', async (time) => {
      expect(await stampOf(time, zone)).toBe(new Date(time).toISOString());
    });

    it('supports every year of a date', async () => {
      expect(await stampOf('22026-01-01 10:00:00.123+00', zone)).toBe(
        '+022026-01-01T10:00:00.123Z',
      );
      expect(await stampOf('0044-03-15 12:00:00+00 BC', zone)).toBe('-000043-03-15T12:00:00.000Z');
    });
  },
);
