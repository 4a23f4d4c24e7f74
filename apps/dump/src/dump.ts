import { createWriteStream } from 'node:fs';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createGzip } from 'node:zlib';
import { dataFormat } from '#contracts';
import type { NamedUser } from '#identity';
import { formatCount, formatDuration, loadConfig, type ProgramIo, ProgressLine } from '#runtime';
import type pg from 'pg';
import { dumpClient } from './dump-client.js';
import { type DumpConfig, dumpConfig, type DumpOptions } from './dump-options.js';
import { type DumpCounts, DumpReader } from './dump-reader.js';
import { namedUsers, readUsersOfPart } from './dumped-users.js';

/**
 * Writes the data of users (docs/reference/data.md). The used memory is constant, because pages are
 * read only as fast as they are written.
 *
 * @throws ConfigurationError, or Error with the reason. The file is then incomplete: it lacks its
 *   last line.
 */
export async function dump(options: DumpOptions, io: ProgramIo): Promise<void> {
  const config = loadConfig(dumpConfig, io.env);
  const client = dumpClient(config.DATABASE_URL, 'dump', { pipeline: true });
  try {
    await client.connect();
    io.stderr.write(`${await writeAll(client, options, config, io)}\n`);
  } catch (error) {
    const { message, code } = error as { code?: string; message?: string };
    throw new Error(`not complete: ${message || code || String(error)}`, { cause: error });
  } finally {
    await client.end();
  }
}

/** Writes all users. @returns the summary for the operator. */
async function writeAll(
  client: pg.Client,
  options: DumpOptions,
  config: DumpConfig,
  io: ProgramIo,
): Promise<string> {
  const reader = new DumpReader(client);
  const { users, share } =
    options.users === undefined
      ? await readUsersOfPart(client, options.shard)
      : namedUsers(options.users, config);
  const progress = new ProgressLine(io.stderr, 'dump', (seconds) =>
    describeProgress(reader.counts, share(), seconds),
  );
  try {
    const lineStream = Readable.from(generateLines(reader, users), {
      objectMode: false,
      highWaterMark: 1,
    });
    const [output, isNewFile] = openOutput(options.out, io);
    const endOptions = { end: isNewFile };
    if (options.out?.endsWith('.gz')) {
      const gzip = createGzip({ level: constants.Z_BEST_SPEED });
      await pipeline(lineStream, gzip, output, endOptions);
    } else await pipeline(lineStream, output, endOptions);
  } finally {
    progress.end();
  }
  const { unknown, erased, pending } = reader.counts;
  return [
    `Complete: ${describeResult(reader.counts, progress.seconds)}.`,
    ...(unknown > 0 ? [`${unknown} of the users have no data.`] : []),
    ...(erased > 0 ? [`${erased} of the users are erased or being erased: omitted.`] : []),
    ...(pending > 0
      ? [
          `${pending} deletions are PENDING, and the dump contains their data: ` +
            'dump again after their end.',
        ]
      : []),
  ].join('\n');
}

async function* generateLines(
  reader: DumpReader,
  users: AsyncIterable<NamedUser>,
): AsyncGenerator<string> {
  yield `${JSON.stringify({ podcast_sync: { format: dataFormat } })}\n`;
  for await (const user of users) yield* reader.partOf(user);
  yield `${JSON.stringify({ complete: { users: reader.counts.users } })}\n`;
}

/** Returns the output stream, and true if it is a new file, which the dump has to close. */
function openOutput(path: string | undefined, io: ProgramIo): [Writable, boolean] {
  if (path === undefined) return [io.stdout, false];
  return [createWriteStream(path, { flags: 'wx', mode: 0o600, flush: true }), true];
}

/** Returns the progress as text. @param share the fraction that is done, from 0 to 1. */
function describeProgress(counts: Readonly<DumpCounts>, share: number, seconds: number): string {
  const timeLeft = share > 0 ? `, ${formatDuration((seconds / share) * (1 - share))} left` : '';
  const readCounts = `${formatCount(counts.users)} users, ${formatCount(counts.episodes)} states`;
  const rate = `${formatRate(counts, seconds)} states/s`;
  return `${Math.floor(share * 100)} %: ${readCounts}, ${rate}${timeLeft}`;
}

/** Returns the totals and the duration as text. */
function describeResult(counts: Readonly<DumpCounts>, seconds: number): string {
  const { users, subscriptions, episodes } = counts;
  return (
    `${formatCount(users)} users, ${formatCount(subscriptions)} subscriptions and ` +
    `${formatCount(episodes)} states in ${formatDuration(seconds)} ` +
    `(${formatRate(counts, seconds)} states/s)`
  );
}

function formatRate({ episodes }: Readonly<DumpCounts>, seconds: number): string {
  return formatCount(Math.round(episodes / Math.max(seconds, 0.001)));
}
