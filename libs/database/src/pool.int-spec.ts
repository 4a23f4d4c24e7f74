import type { DataSource, QueryRunner } from 'typeorm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDatabase, type TestDatabase } from '#testing';
import { createDataSource } from './data-source.js';

let testDatabase: TestDatabase;
let dataSource: DataSource;
let session: QueryRunner;

beforeAll(async () => {
  testDatabase = await createDatabase();
  dataSource = await createDataSource({ url: testDatabase.urls.episode, poolSize: 1 }).initialize();
  session = dataSource.createQueryRunner();
});

afterAll(async () => {
  await session.release();
  await dataSource.destroy();
  await testDatabase.drop();
});

async function stampOf(time: string, zone: string): Promise<unknown> {
  await session.query(`SET TIME ZONE '${zone}'`);
  const [row] = (await session.query('SELECT $1::timestamptz AS at', [time])) as { at: unknown }[];
  return row?.at;
}

/** Time zones at UTC, ahead with a half hour, behind, and at UTC for half of the year. */
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
