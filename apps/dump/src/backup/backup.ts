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
  /** Path of a new file, or `-` for the standard output. */
  readonly file: string;
  /** Directory of the keys. If undefined, the backup has no keys. */
  readonly keys: KeyDirectory | undefined;
}

/**
 * Writes a snapshot of all schemas except `feed`, and the keys. The system can keep running.
 *
 * @throws ConfigurationError, or Error with the reason, such as SIGINT or SIGTERM. The incomplete
 *   file is then removed.
 */
export async function backup(options: BackupOptions, io: ProgramIo): Promise<void> {
  const { DATABASE_URL } = loadConfig(backupConfig, io.env);
  const keys = options.keys ? readKeys(options.keys) : new Map<string, string>();
  const client = dumpClient(DATABASE_URL, 'backup');
  const writer = new BackupWriter(client, keys);
  const isFile = options.file !== '-';
  const fileHandle = isFile ? await open(options.file, 'wx', 0o600) : undefined;
  const output: Writable = fileHandle?.createWriteStream({ flush: true }) ?? io.stdout;
  const progress = new ProgressLine(
    io.stderr,
    'backup',
    () => `${formatCount(writer.writtenRows)} rows`,
  );
  try {
    await withStopSignal(async (signal) => {
      await client.connect();
      const lineStream = Readable.from(writer.lines(), { objectMode: false });
      const gzip = createGzip({ level: constants.Z_BEST_SPEED });
      await pipeline(lineStream, gzip, output, { end: isFile, signal });
    });
  } catch (error) {
    if (isFile) await rm(options.file);
    throw error;
  } finally {
    progress.end();
    await client.end();
  }
  const keysNote = keys.size > 0 ? 'with the keys: store it like a password' : 'without keys';
  io.stderr.write(
    `Complete: ${formatCount(writer.writtenRows)} rows ` +
      `in ${formatDuration(progress.seconds)}, ${keysNote}.\n`,
  );
}

class BackupWriter {
  writtenRows = 0;

  constructor(
    private readonly client: pg.Client,
    private readonly keys: ReadonlyMap<string, string>,
  ) {}

  async *lines(): AsyncGenerator<Buffer | string> {
    await this.client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const migrations = await this.client.query<{ name: string }>(selectMigrations);
    const head: BackupHead = {
      format: 1,
      created: new Date().toISOString(),
      migrations: migrations.rows.map(({ name }) => name),
    };
    yield `${JSON.stringify({ podcast_sync_backup: head })}\n`;
    const tables = await this.client.query<Table>(selectTables);
    for (const { name, columns } of inOrderOfReferences(tables.rows)) {
      yield serializePart({ table: name, columns });
      const copy = this.client.query(copyTo(`COPY ${name} (${columns}) TO STDOUT`));
      // After a stop, the closed connection causes this error. Unhandled, it would end the process.
      copy.on('error', () => undefined);
      yield* copy as AsyncIterable<Buffer>;
      this.writtenRows += copy.rowCount;
      yield `${endOfRows}\n`;
    }
    const sequences = await this.client.query<{ name: string; value: number }>(selectSequences);
    for (const { name, value } of sequences.rows) yield serializePart({ sequence: name, value });
    await this.client.query('COMMIT');
    for (const [key, content] of this.keys) yield serializePart({ key, content });
    yield serializePart({ complete: { rows: this.writtenRows } });
  }
}

function serializePart(part: BackupPart): string {
  return `${JSON.stringify(part)}\n`;
}
