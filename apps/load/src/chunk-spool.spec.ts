import { mkdtempSync, readdirSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ChunkSpool } from './chunk-spool.js';

const entryBytes = 500_000;
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chunk-spool-'));
  vi.stubEnv('TMPDIR', folder);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

/** Returns a spool of 20 chunks with an entry each: 8 in memory, 11 in the file and the last. */
function filledSpool(): ChunkSpool<string> {
  const spool = new ChunkSpool<string>({ entries: 1, bytes: 1_000_000 });
  for (let line = 1; line <= 20; line += 1)
    spool.add(String(line).padEnd(entryBytes, 'ü'), line, entryBytes);
  return spool;
}

describe('ChunkSpool', () => {
  it('yields all chunks in order, and removes its file', async () => {
    const spool = filledSpool();
    const lines: number[] = [];
    for await (const chunk of spool.chunks()) {
      expect(chunk.entries).toEqual([String(chunk.lines[0]).padEnd(entryBytes, 'ü')]);
      lines.push(...chunk.lines);
    }
    expect(lines).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
    expect(readdirSync(folder)).toHaveLength(1);
    spool.dispose();
    expect(readdirSync(folder)).toEqual([]);
  });

  it('reads no chunk of its file ahead', async () => {
    const spool = filledSpool();
    const chunks = spool.chunks();
    for (let line = 1; line <= 9; line += 1) await chunks.next();
    // Long enough for a stream to read the rest.
    await delay(100);
    truncateSync(join(folder, readdirSync(folder)[0] ?? '', 'chunks'));
    await expect(chunks.next()).rejects.toThrow('truncated');
    spool.dispose();
  });
});
