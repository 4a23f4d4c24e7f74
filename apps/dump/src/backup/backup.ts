import { open, rm } from 'node:fs/promises';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createGzip } from 'node:zlib';
import {
  formatCount,
  formatDuration,
  loadConfig,
  type ProgramIo,
  ProgressLine,
  withStopSignal,
} from '#runtime';
import type pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import {
  type BackupHead,
  type BackupPart,
  endOfRows,
  inOrderOfReferences,
  selectMigrations,
  selectSequences,
  type Table,
  selectTables,
} from './backup-format.js';
import { dumpClient } from '../dump-client.js';
import { backupConfig } from '../dump-options.js';
import { type KeyDirectory, readKeys } from './key-files.js';

/** Options of `podcast-sync backup`. */
export interface BackupOptions {
  /** New file, or `-` for the standard output. */
  readonly file: string;
  /** Directory of the keys. Without it the backup has no keys. */
  readonly keys: KeyDirectory | undefined;
}

/**
 * Writes a snapshot of all schemas except `feed`, and the keys. The system can keep running.
 *
 * @throws ConfigurationError, or Error with the reason, such as SIGINT or SIGTERM; then the
 *   incomplete file is removed.
 */
export async function backup(options: BackupOptions, io: ProgramIo): Promise<void> {
  const { DATABASE_URL } = loadConfig(backupConfig, io.env);
  const keys = options.keys ? readKeys(options.keys) : new Map<string, string>();
  const client = dumpClient(DATABASE_URL, 'backup');
  const writer = new BackupWriter(client, keys);
  const isFile = options.file !== '-';
  const handle = isFile ? await open(options.file, 'wx', 0o600) : undefined;
  const out: Writable = handle?.createWriteStream({ flush: true }) ?? io.stdout;
  const progress = new ProgressLine(io.stderr, 'backup', () => `${formatCount(writer.rows)} rows`);
  try {
    await withStopSignal(async (signal) => {
      await client.connect();
      const text = Readable.from(writer.lines(), { objectMode: false });
      const gzip = createGzip({ level: constants.Z_BEST_SPEED });
      await pipeline(text, gzip, out, { end: isFile, signal });
    });
  } catch (error) {
    if (isFile) await rm(options.file);
    throw error;
  } finally {
    progress.end();
    await client.end();
  }
  const has = keys.size > 0 ? 'with the keys: store it like a password' : 'without keys';
  io.stderr.write(
    `Complete: ${formatCount(writer.rows)} rows in ${formatDuration(progress.seconds)}, ${has}.\n`,
  );
}

class BackupWriter {
  rows = 0;

  constructor(
    private readonly client: pg.Client,
    private readonly keys: ReadonlyMap<string, string>,
  ) {}

  async *lines(): AsyncGenerator<Buffer | string> {
    await this.client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const applied = await this.client.query<{ name: string }>(selectMigrations);
    const head: BackupHead = {
      format: 1,
      created: new Date().toISOString(),
      migrations: applied.rows.map(({ name }) => name),
    };
    yield `${JSON.stringify({ podcast_sync_backup: head })}\n`;
    const all = await this.client.query<Table>(selectTables);
    for (const { name, columns } of inOrderOfReferences(all.rows)) {
      yield serializePart({ table: name, columns });
      const copy = this.client.query(copyTo(`COPY ${name} (${columns}) TO STDOUT`));
      // After a stop, the closed connection causes an error that nothing else receives.
      copy.on('error', () => undefined);
      yield* copy as AsyncIterable<Buffer>;
      this.rows += copy.rowCount;
      yield `${endOfRows}\n`;
    }
    const numbers = await this.client.query<{ name: string; value: number }>(selectSequences);
    for (const { name, value } of numbers.rows) yield serializePart({ sequence: name, value });
    await this.client.query('COMMIT');
    for (const [key, content] of this.keys) yield serializePart({ key, content });
    yield serializePart({ complete: { rows: this.rows } });
  }
}

function serializePart(part: BackupPart): string {
  return `${JSON.stringify(part)}\n`;
}
