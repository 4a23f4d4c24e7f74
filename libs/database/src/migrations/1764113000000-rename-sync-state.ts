import type { MigrationInterface, QueryRunner } from 'typeorm';
import { endErasure } from './routed.deletion.sql.js';

/** The columns of the sync state of gpodder clients, with their former names. */
const renamed = [
  ['sync.user_clock', 'told', 'answered_second'],
  ['sync.readers', 'asked', 'since'],
  ['sync.readers', 'told', 'answered_second'],
  ['sync.readers', 'safe', 'safe_second'],
  ['sync.readers', 'arrived', 'received_ms'],
  ['sync.reader_sessions', 'known', 'stamp_ms'],
] as const;

/** Names the columns of the sync state of gpodder clients after their content and unit. */
export class RenameSyncState1764113000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`SET LOCAL lock_timeout = '2s'`);
    for (const [table, from, to] of renamed)
      await runner.query(`ALTER TABLE ${table} RENAME COLUMN ${from} TO ${to}`);
    await replaceCheck(runner, 'user_clock_told', 'answered_second');
    await runner.query(endErasure('answered_second'));
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const [table, from, to] of renamed)
      await runner.query(`ALTER TABLE ${table} RENAME COLUMN ${to} TO ${from}`);
    await replaceCheck(runner, 'user_clock_answered_second', 'told');
    await runner.query(endErasure('told'));
  }
}

/** Replaces the check of a column of clocks. A cluster cannot rename a constraint. */
async function replaceCheck(runner: QueryRunner, former: string, column: string): Promise<void> {
  await runner.query(`ALTER TABLE sync.user_clock DROP CONSTRAINT ${former}`);
  await runner.query(`
    ALTER TABLE sync.user_clock ADD CONSTRAINT user_clock_${column}
      CHECK (${column} = 0 OR stamp >= to_timestamp((${column} + 1)::double precision))
  `);
}
