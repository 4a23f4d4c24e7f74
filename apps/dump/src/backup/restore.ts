import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { areBeforeFirstRelease } from '#database';
import { formatCount, formatDuration, loadConfig, type ProgramIo, ProgressLine } from '#runtime';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { type BackupHead, selectMigrations, type Table, selectTables } from './backup-format.js';
import { BackupReader } from './backup-reader.js';
import { dumpClient } from '../dump-client.js';
import { backupConfig } from '../dump-options.js';
import { type KeyDirectory, writeKeys } from './key-files.js';

/** Options of `podcast-sync restore`. */
export interface RestoreOptions {
  /** Path of a backup, or `-` for the standard input. */
  readonly file: string;
  /** Directory whose keys are replaced. If undefined, the keys of the backup are ignored. */
  readonly keys: KeyDirectory | undefined;
}

/** Number of ids that each sequence skips: clients can have ids assigned after the backup. */
const skippedIdCount = 1_000_000;

/** Error codes of gunzip for a file that is not gzip, damaged or truncated. */
const gzipErrorCodes: ReadonlySet<string> = new Set(['Z_DATA_ERROR', 'Z_BUF_ERROR']);

/** Prevents concurrent creation of users and accounts. */
const lockUsersAndAccounts = `
  LOCK TABLE sync.user_clock, account.accounts IN ACCESS EXCLUSIVE MODE`;
/** Selects true if the database has users or accounts, else false. */
const selectHasData = `
  SELECT EXISTS (SELECT FROM sync.user_clock) OR EXISTS (SELECT FROM account.accounts)
    AS "hasData"`;

/**
 * Writes a backup to an empty database with the schema of this release, in one transaction. Then
 * writes the keys of the backup if `options.keys` is set.
 *
 * @throws ConfigurationError, or Error with the reason. The database is then unchanged, unless only
 *   the keys could not be written.
 */
export async function restore(options: RestoreOptions, io: ProgramIo): Promise<void> {
  const { DATABASE_URL } = loadConfig(backupConfig, io.env);
  const client = dumpClient(DATABASE_URL, 'restore');
  const source = options.file === '-' ? io.stdin : createReadStream(options.file);
  const gunzip = createGunzip();
  const unpacked = pipeline(source, gunzip);
  // Ignores errors of the pipeline, because the reader of `gunzip` fails with the same error.
  // Without these handlers, an error before the start of the reader would end the process.
  unpacked.catch(() => undefined);
  gunzip.on('error', () => undefined);
  const restorer = new BackupRestorer(client, new BackupReader(gunzip as AsyncIterable<Buffer>));
  const progress = new ProgressLine(
    io.stderr,
    'restore',
    () => `${formatCount(restorer.restoredRows)} rows`,
  );
  try {
    await client.connect();
    const { head, keys } = await restorer.restore();
    if (options.keys) writeKeys(options.keys, keys);
    const keysOutcome =
      keys.size === 0
        ? 'not in the backup'
        : options.keys
          ? 'restored'
          : 'not restored (use --secrets DIR)';
    io.stderr.write(
      `Restored ${formatCount(restorer.restoredRows)} rows ` +
        `in ${formatDuration(progress.seconds)} ` +
        `from the backup of ${head.created}; keys: ${keysOutcome}.\n`,
    );
  } catch (error) {
    throw gzipErrorCodes.has((error as NodeJS.ErrnoException).code ?? '')
      ? new Error('the file is damaged or not a backup of Podcast Sync', { cause: error })
      : error;
  } finally {
    progress.end();
    gunzip.destroy();
    await client.end();
  }
}

class BackupRestorer {
  restoredRows = 0;

  constructor(
    private readonly client: pg.Client,
    private readonly reader: BackupReader,
  ) {}

  async restore(): Promise<{ head: BackupHead; keys: Map<string, string> }> {
    const head = await this.reader.readHead();
    const { rows } = await this.client.query<{ name: string }>(selectMigrations);
    requireSameSchema(
      head,
      rows.map(({ name }) => name),
    );
    await this.client.query('BEGIN');
    try {
      await this.client.query(lockUsersAndAccounts);
      const dataCheck = await this.client.query<{ hasData: boolean }>(selectHasData);
      if (dataCheck.rows[0]?.hasData)
        throw new Error('the database has data of users or accounts: restore to an empty database');
      const keys = await this.restoreParts();
      await this.client.query('COMMIT');
      return { head, keys };
    } catch (error) {
      await this.client.query('ROLLBACK').catch(() => undefined);
      throw error;
    }
  }

  private async restoreParts(): Promise<Map<string, string>> {
    const keys = new Map<string, string>();
    const columns = new Map<string, string>();
    for (const table of (await this.client.query<Table>(selectTables)).rows)
      columns.set(table.name, table.columns);
    for (;;) {
      const part = await this.reader.readPart();
      if ('table' in part) {
        // The check also prevents SQL injection, because the names are inserted into SQL.
        if (columns.get(part.table) !== part.columns)
          throw new Error('the backup is damaged: it has an unknown table or other columns');
        await this.restoreTable(part.table, part.columns);
      } else if ('sequence' in part)
        await this.client.query('SELECT setval($1::regclass, $2)', [
          part.sequence,
          part.value + skippedIdCount,
        ]);
      else if ('key' in part) keys.set(part.key, part.content);
      else {
        if (part.complete.rows !== this.restoredRows)
          throw new Error(
            `the backup is damaged: it has ${formatCount(this.restoredRows)} rows; ` +
              `its last line counts ${formatCount(part.complete.rows)}`,
          );
        return keys;
      }
    }
  }

  private async restoreTable(name: string, columns: string): Promise<void> {
    // Deletes rows that migrations inserted, because the backup contains them too.
    await this.client.query(`DELETE FROM ${name}`);
    const copyStream = this.client.query(copyFrom(`COPY ${name} (${columns}) FROM STDIN`));
    await pipeline(Readable.from(this.reader.readRows()), copyStream);
    this.restoredRows += copyStream.rowCount;
  }
}

function requireSameSchema(head: BackupHead, databaseMigrations: readonly string[]): void {
  if (JSON.stringify(head.migrations) === JSON.stringify(databaseMigrations)) return;
  throw new Error(
    areBeforeFirstRelease(head.migrations)
      ? `the backup of ${head.created} is of a version before 0.2.0, which cannot be upgraded: ` +
          'restore it with that version (docs/guide/upgrade.md)'
      : `the backup of ${head.created} has another schema than this release: restore it with ` +
          'the release that created it, then upgrade',
  );
}
