import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource, type EntityManager } from 'typeorm';
import { type Checked, checked, type Credential, used } from '../credentials/app-passwords.js';
import { RevocationNotice } from '../people/revocation.notice.js';
import { rowsOf } from '../people/statement.rows.js';
import { Writes } from './writes.js';

/** How many are kept of an app password: those that can be used, and those that can't any more. */
const most = { open: 50, over: 200 } as const;

/** Whether a session `s` can't be used any more. */
const isOver = `(s.ended_at IS NOT NULL OR s.last_used_at < now() - interval '365 days')`;

/**
 * Sessions of the gpodder API. Their cookies are signed by the edge process, so a session is nothing here until its cookie
 * comes back for the first time.
 *
 * Invariants:
 * - A session never outlives its app password.
 * - One that was ended, or not used for a year, stays as such, so that its cookie does not begin it anew; the oldest of
 *   these go only beyond 200.
 * - Of an app password 50 can be used, the longest unused goes. Its cookie may begin it again, as it was ended by nobody.
 */
@Injectable()
export class GpodderSessions {
  constructor(
    @InjectDataSource() private readonly source: DataSource,
    private readonly writes: Writes,
    private readonly revocations: RevocationNotice,
  ) {}

  /** Whose a session is, which begins with the first call; that it is used is written down once a day. */
  async check(id: string, credentialId: string): Promise<Credential | null> {
    const [found] = await rowsOf<Checked & { isOver: boolean | null; isStale: boolean }>(
      this.source.manager,
      `SELECT ${checked.columns}, CASE WHEN s.id IS NOT NULL THEN ${isOver} END AS "isOver",
         s.last_used_at < now() - interval '1 day' AS "isStale"
       FROM ${checked.tables} LEFT JOIN account.gpodder_sessions s ON s.credential_id = c.id AND s.id = $2
       WHERE c.id = $1 AND ${checked.condition}`,
      [credentialId, id],
    );
    if (!found || found.isOver) return null;
    if (found.isOver === null && !(await this.keep(id, found))) return null;
    if (found.isStale) await this.touch(id, credentialId);
    return used(this.source.manager, found);
  }

  /** Ends a session for good, also one that has not begun. */
  async end(id: string, credentialId: string): Promise<void> {
    await this.writes.run(credentialId, async (manager) => {
      const ended = await rowsOf(
        manager,
        `INSERT INTO account.gpodder_sessions AS s (credential_id, id, account_id, ended_at)
         SELECT c.id, $2, c.account_id, now() FROM account.credentials c WHERE c.id = $1 FOR NO KEY UPDATE
         ON CONFLICT (credential_id, id) DO UPDATE SET ended_at = coalesce(s.ended_at, excluded.ended_at) RETURNING 1`,
        [credentialId, id],
      );
      if (ended.length > 0) await drop(manager, credentialId);
    });
    // Also when it comes again: the process may have died before whoever remembers the session heard of it.
    await this.revocations.give([{ kind: 'gpodder_session', id }]);
  }

  /** Keeps a session that comes for the first time. @returns false where somebody ended it just now. */
  private keep(id: string, { credentialId }: Checked): Promise<boolean> {
    return this.writes.run(credentialId, async (manager) => {
      // The lock keeps the number; where the app password was revoked just now there is no row.
      const [kept] = await rowsOf<{ isOpen: boolean }>(
        manager,
        `INSERT INTO account.gpodder_sessions AS s (credential_id, id, account_id, last_used_at)
         SELECT c.id, $2, c.account_id, clock_timestamp() FROM account.credentials c WHERE c.id = $1 FOR NO KEY UPDATE
         ON CONFLICT (credential_id, id) DO UPDATE SET last_used_at = s.last_used_at
         RETURNING s.ended_at IS NULL AS "isOpen"`,
        [credentialId, id],
      );
      if (kept) await drop(manager, credentialId);
      return kept?.isOpen ?? false;
    });
  }

  private async touch(id: string, credentialId: string): Promise<void> {
    await this.source.query(
      `UPDATE account.gpodder_sessions s SET last_used_at = now()
       WHERE s.credential_id = $1 AND s.id = $2 AND s.last_used_at < now() - interval '1 day' AND NOT ${isOver}`,
      [credentialId, id],
    );
  }
}

/** Removes what is too much of an app password, whose row the transaction has locked. */
async function drop(manager: EntityManager, credentialId: string): Promise<void> {
  await manager.query(
    `DELETE FROM account.gpodder_sessions WHERE credential_id = $1 AND id IN (
       SELECT id FROM (
         SELECT s.id, ${isOver} AS over, row_number() OVER (
           PARTITION BY ${isOver} ORDER BY coalesce(s.ended_at, s.last_used_at) DESC, s.id) AS place
         FROM account.gpodder_sessions s WHERE s.credential_id = $1) kept
       WHERE place > CASE WHEN over THEN $3::integer ELSE $2::integer END)`,
    [credentialId, most.open, most.over],
  );
}
