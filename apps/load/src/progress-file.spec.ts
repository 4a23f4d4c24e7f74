import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ProgressFile } from './progress-file.js';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'progress-file-'));
  file = join(folder, 'users.ndjson');
  writeFileSync(file, 'content');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function saveProgress(): Promise<void> {
  const progress = await ProgressFile.open(file);
  progress.reached = { offset: 5, line: 2 };
  progress.rejected = 3;
  await progress.save();
}

describe('ProgressFile', () => {
  it('stores place and rejected lines', async () => {
    await saveProgress();
    expect(await ProgressFile.open(file)).toMatchObject({
      reached: { offset: 5, line: 2 },
      rejected: 3,
    });
  });

  it('reads the progress of 0.2.0, which has no rejected lines', async () => {
    await saveProgress();
    const stored = JSON.parse(readFileSync(`${file}.progress`, 'utf8')) as object;
    writeFileSync(`${file}.progress`, JSON.stringify({ ...stored, rejected: undefined }));
    expect(await ProgressFile.open(file)).toMatchObject({ reached: { line: 2 }, rejected: 0 });
  });

  it('ignores the progress of other content', async () => {
    await saveProgress();
    writeFileSync(file, 'other content');
    expect(await ProgressFile.open(file)).toMatchObject({ reached: { line: 0 }, rejected: 0 });
  });
});
