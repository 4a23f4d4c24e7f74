import type { ShownImport } from '#contracts';
import { type Database, statement } from '#database';

/** Seconds for which a requested import waits for a process to claim it. */
const maxWaitSeconds = 10;
/** A request is refused while this many imports of other users wait. */
const maxWaitingImports = 16;
/** Seconds without a save after which the process of an import counts as dead. */
const deadAfterSeconds = 30;

/**
 * Replaces the user's previous import by a new request. The progress of an unfinished import of the
 * same account is kept. Changes and returns no row if too many imports of other users wait. $1
 * user, $2 source, $3 login.
 */
const insertRequest = statement(
  'feed.request_import',
  `INSERT INTO feed.imports AS i (user_id, id, source, login)
   SELECT $1, gen_random_uuid(), $2, $3 WHERE ${maxWaitingImports} > (
     SELECT count(*) FROM feed.imports w
     WHERE w.state = 'waiting' AND w.seen_at > now() - interval '${maxWaitSeconds} s'
       AND w.user_id <> $1
   )
   ON CONFLICT (user_id) DO UPDATE SET
     id = excluded.id, source = excluded.source, login = excluded.login, state = 'waiting',
     fault = NULL, public_key = NULL, sealed = NULL, report = NULL, seen_at = now(),
     cursor = CASE
       WHEN i.source = excluded.source AND i.login = excluded.login AND i.state <> 'finished'
       THEN i.cursor
     END
   RETURNING id`,
);

/** SQL of the imports that wait for a process. */
export const dueImports = `SELECT o.user_id FROM feed.imports o
     WHERE o.state = 'waiting' AND o.seen_at > now() - interval '${maxWaitSeconds} s'`;

/** Claims the import that waits longest. $1 public key of the process, for the password. */
const claimImport = statement(
  'feed.claim_import',
  `UPDATE feed.imports i SET state = 'running', public_key = $1, seen_at = now() FROM (
     ${dueImports}
     ORDER BY o.seen_at LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
   ) next WHERE i.user_id = next.user_id
   RETURNING i.user_id AS "userId", i.id, i.source, i.login, i.cursor`,
);

/** SQL that reads the import of user $1. An import whose process died is shown as failed. */
const answerColumns = `source, login, report, id, public_key AS "publicKey",
  CASE WHEN is_dead THEN 'failed' ELSE state END AS state,
  CASE WHEN is_dead THEN 'interrupted' ELSE fault END AS fault
  FROM (
    SELECT i.*, i.state IN ('waiting', 'running')
      AND i.seen_at < now() - interval '${deadAfterSeconds} s' AS is_dead
    FROM feed.imports i WHERE i.user_id = $1
  ) i`;

/** Reads the import of user $1. */
const selectImport = statement('feed.select_import', `SELECT ${answerColumns}`);

/** Stores the password of a running import. $1 user, $2 id, $3 encrypted password. */
const storePassword = statement(
  'feed.unlock_import',
  `UPDATE feed.imports i SET sealed = $3
   WHERE i.user_id = $1 AND i.id = $2 AND i.state = 'running'`,
);

/** Stops the import of a user. $1 user. */
const stopImport = statement(
  'feed.stop_import',
  `UPDATE feed.imports i SET state = 'stopped', sealed = NULL
   WHERE i.user_id = $1 AND i.state IN ('waiting', 'running')`,
);

/**
 * Saves the progress of an import. Returns a row with the encrypted password, or no row if the
 * import was replaced or stopped. $1 user, $2 id, $3 cursor, $4 report, $5 state, $6 fault.
 */
const saveProgress = statement(
  'feed.save_import',
  `UPDATE feed.imports i SET
     cursor = $3, report = $4, state = $5, fault = $6, seen_at = now(),
     sealed = CASE WHEN $5 = 'running' THEN i.sealed END
   WHERE i.user_id = $1 AND i.id = $2 AND i.state = 'running' RETURNING i.sealed`,
);

/** A claimed import. */
export interface ClaimedImport extends Pick<ShownImport, 'source' | 'login'> {
  readonly userId: string;
  readonly id: string;
  /** The saved progress as JSON; null for a new import. */
  readonly cursor: string | null;
}

/** The numbers and skipped entries of an import. */
export type ImportReport = Omit<ShownImport, 'source' | 'login' | 'state' | 'fault'>;

/** The progress of a running import, or its outcome. */
export interface RunProgress extends Pick<ShownImport, 'state' | 'fault'> {
  /** The state from which another run continues the import. */
  readonly cursor: object;
  readonly report: ImportReport;
}

const emptyReport: ImportReport = {
  subscriptions: 0,
  actions: 0,
  favorites: 0,
  skipped: 0,
  skipped_entries: [],
};

/** The SQL of imports. A user has at most one import. */
export class ImportRepository {
  constructor(private readonly database: Database) {}

  /** Requests an import. Returns its id, or `undefined` if 16 other imports wait for a replica. */
  async requestImport(userId: string, source: string, login: string): Promise<string | undefined> {
    const values = [userId, source, login];
    const [row] = await this.database.change<{ id: string }>(insertRequest, values);
    return row?.id;
  }

  /**
   * Claims and returns the import that waits longest, or `undefined` if none waits.
   *
   * @param publicKey key with which the gateway encrypts the password.
   */
  async claimImport(publicKey: Buffer): Promise<ClaimedImport | undefined> {
    const [row] = await this.database.change<ClaimedImport>(claimImport, [publicKey]);
    return row;
  }

  /**
   * Returns the user's import, its id, and the public key of the process that claimed it, which is
   * null before the claim. Returns `undefined` if the user has no import.
   */
  async readImport(
    userId: string,
  ): Promise<{ shown: ShownImport; id: string; publicKey: Buffer | null } | undefined> {
    type Row = Pick<ShownImport, 'source' | 'login' | 'state'> & {
      fault: ShownImport['fault'] | null;
      report: string | null;
      id: string;
      publicKey: Buffer | null;
    };
    const [row] = await this.database.read<Row>(selectImport, [userId]);
    if (!row) return undefined;
    const { report, id, publicKey, fault, ...importFields } = row;
    const reportFields = report === null ? emptyReport : (JSON.parse(report) as ImportReport);
    return {
      shown: { ...importFields, ...(fault !== null && { fault }), ...reportFields },
      id,
      publicKey,
    };
  }

  /** Stores the encrypted password, unless the import was replaced or stopped. */
  async storePassword(userId: string, id: string, encryptedPassword: Buffer): Promise<void> {
    await this.database.change(storePassword, [userId, id, encryptedPassword]);
  }

  /** Stops the user's import. Does nothing if it has already ended. */
  async stopImport(userId: string): Promise<void> {
    await this.database.change(stopImport, [userId]);
  }

  /**
   * Saves the progress of an import. Returns the encrypted password: null before it arrives,
   * `undefined` if the import was replaced or stopped; then nothing is saved.
   */
  async saveProgress(
    { userId, id }: ClaimedImport,
    { cursor, report, state, fault }: RunProgress,
  ): Promise<Buffer | null | undefined> {
    const [row] = await this.database.change<{ sealed: Buffer | null }>(saveProgress, [
      userId,
      id,
      JSON.stringify(cursor),
      JSON.stringify(report),
      state,
      fault ?? null,
    ]);
    return row?.sealed;
  }
}
