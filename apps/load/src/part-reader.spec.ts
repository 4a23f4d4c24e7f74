import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { collected } from '../testing/collected.js';
import { FormatError } from './data-line.js';
import { startOfFile } from './line-reader.js';
import { PartReader } from './part-reader.js';
import type { RejectedLine } from './user-part.js';

const user = (id = '3f2504e0-4f89-41d3-9a0c-0305e82c3301') => ({ user: { id } });
const subscription = { subscription: { feed_url: 'https://a.example/f' } };
const episode = (n: number) => ({ episode: { title: String(n) } });
const end = (subscriptions: number, episodes: number) => ({ end: { subscriptions, episodes } });

/** Returns the parts of lines: user, line numbers of each chunk, and the offset after the part. */
async function read(...lines: (object | string)[]) {
  const text = lines
    .map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`)
    .join('');
  const rejectedLines: RejectedLine[] = [];
  let dropped = 0;
  const reader = new PartReader({
    userId: (of) => ('id' in of ? of.id : `${of.issuer} ${of.subject}`),
    reject: async (line) => void rejectedLines.push(line),
    dropped: () => (dropped += 1),
  });
  const parts: unknown[] = [];
  const stream = Readable.from([Buffer.from(text)]);
  for await (const { part, next } of reader.parts(stream, startOfFile)) {
    const chunks = await collected(part.subscriptions.chunks());
    const episodes = await collected(part.episodes.chunks());
    parts.push({
      user: part.userId,
      chunks: [...chunks, ...episodes].map((chunk) => chunk.lines),
      line: next.line,
    });
    part.dispose();
  }
  return { parts, rejected: rejectedLines.map(({ line, code }) => [line, code]), dropped };
}

describe('a part of a file', () => {
  it('is returned after its last line, subscriptions before episodes, in order', async () => {
    const { parts, rejected } = await read(
      user(),
      subscription,
      episode(1),
      subscription,
      end(2, 1),
      user('b'.repeat(8)),
      end(0, 0),
    );
    expect(parts).toEqual([{ user: user().user.id, chunks: [[2, 4], [3]], line: 5 }]);
    expect(rejected).toEqual([[6, 'invalid_user']]);
  });

  it('names its user by credential or by id', async () => {
    const { parts } = await read(
      { user: { issuer: 'i', subject: 's' } },
      end(0, 0),
      user(),
      end(0, 0),
    );
    expect(parts).toMatchObject([{ user: 'i s' }, { user: user().user.id }]);
  });

  it.each([
    ['fewer', [episode(1), end(0, 2)]],
    ['more', [episode(1), end(0, 0)]],
    ['of the other kind', [episode(1), end(1, 0)]],
    ['fewer, broken lines counted', [episode(1), 'broken', end(0, 3)]],
    ['no counts', [episode(1), { end: {} }]],
    ['no end', [episode(1)]],
    ['another user in it', [episode(1), user()]],
  ])('is omitted if the counts of its last line do not match: %s', async (_, lines) => {
    const { parts, rejected, dropped } = await read(user(), ...lines);
    expect(parts).toEqual([]);
    expect(rejected).toContainEqual([1, 'incomplete']);
    expect(dropped).toBeGreaterThan(0);
  });

  it('is complete with invalid lines if the counts allow for them', async () => {
    const lines = ['broken', '{"other":{}}', '[]', episode(1), '{"subscription":{}}', end(2, 3)];
    const { parts, rejected } = await read(user(), ...lines);
    expect(parts).toMatchObject([{ chunks: [[5]] }]);
    expect(rejected).toEqual([2, 3, 4, 6].map((line) => [line, 'invalid_line']));
  });

  it('is split into chunks of up to 1,000 entries, and spooled to a file if large', async () => {
    const title = 'x'.repeat(4_000);
    const many = Array.from({ length: 4_200 }, () => ({ episode: { title } }));
    const { parts } = await read(user(), ...many, end(0, many.length));
    const { chunks } = parts[0] as { chunks: number[][] };
    expect(chunks.flat()).toEqual(many.map((_, place) => place + 2));
    expect(chunks.length).toBeGreaterThan(15);
    expect(Math.max(...chunks.map(({ length }) => length))).toBeLessThanOrEqual(1_000);
  });
});

it('rejects lines between users by their fault, and ends at another format', async () => {
  const broken = '{"user": {"subject"';
  expect((await read('', episode(1), user(), end(0, 0), broken, episode(1))).rejected).toEqual([
    [2, 'no_user'],
    [5, 'invalid_line'],
    [6, 'no_user'],
  ]);
  await expect(read({ podcast_sync: { format: 2 } })).rejects.toThrow(FormatError);
});
