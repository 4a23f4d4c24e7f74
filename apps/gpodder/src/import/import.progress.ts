import { createHash } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { z } from 'zod';
import type { ImportOptions } from './import.options.js';

/** Progress of an import: the current answer, and the written part of it. */
const placeSchema = z.object({
  /** The `since` of that answer. */
  since: z.int().min(0),
  /** Number and hash of the written actions. The hash detects a changed answer. */
  actions: z.int().min(0),
  hash: z.string(),
});
export type Place = z.output<typeof placeSchema>;
const storedSchema = placeSchema.extend({ import: z.string() });

export const start: Place = { since: 0, actions: 0, hash: '' };

/** Minimum time between two saves in milliseconds. */
const saveMs = 1_000;

/** Stores an import's progress in a file without secrets. Ignores files of other imports. */
export class ImportProgress {
  private saved = 0;

  private constructor(
    private readonly path: string,
    private readonly identity: string,
    public place: Place,
  ) {}

  static async open({ from, user, login, progress }: ImportOptions): Promise<ImportProgress> {
    const identity = createHash('sha256')
      .update(JSON.stringify([from.href, user, login]))
      .digest('hex');
    const path = progress ?? `import-${identity.slice(0, 12)}.progress`;
    const found = storedSchema.safeParse(
      await readFile(path, 'utf8').then(json, () => undefined),
    ).data;
    return new ImportProgress(path, identity, found?.import === identity ? found : start);
  }

  async reached(place: Place): Promise<void> {
    this.place = place;
    if (performance.now() - this.saved >= saveMs) await this.save();
  }

  /** Replaces the file atomically, so that it is always readable. */
  async save(): Promise<void> {
    this.saved = performance.now();
    const temporary = `${this.path}.${process.pid}`;
    await writeFile(temporary, JSON.stringify({ import: this.identity, ...this.place }), {
      mode: 0o600,
    });
    await rename(temporary, this.path);
  }

  /** Removes the file after a complete import, so that the next one starts again. */
  async remove(): Promise<void> {
    await rm(this.path, { force: true });
  }
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
