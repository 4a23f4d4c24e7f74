import { createHash } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { z } from 'zod';
import {
  type ProgressStore,
  importProgressSchema,
  type ImportProgress,
  noProgress,
} from '#gpodder-data';
import { parseJson } from '#runtime';
import type { ImportOptions } from './import-options.js';

/** Content of the file: the progress, and a hash of the options of the import. */
const fileSchema = importProgressSchema.extend({ import: z.string() });

/** Minimum time between two writes of the file, in milliseconds. */
const saveIntervalMs = 1_000;

/**
 * Stores the progress of an import in a file without secrets. Ignores the file of an import with
 * other options. If the file cannot be written, e.g. in a read-only container, the import
 * continues without it.
 */
export class ImportProgressFile implements ProgressStore {
  private savedAt = 0;
  private isUnwritable = false;

  private constructor(
    private readonly path: string,
    private readonly optionsHash: string,
    public current: ImportProgress,
    private readonly warn: (text: string) => void,
  ) {}

  /** Reads the progress of an earlier import with the same options, if there is one. */
  static async open(
    { from, user, login, progress }: ImportOptions,
    warn: (text: string) => void,
  ): Promise<ImportProgressFile> {
    const optionsHash = createHash('sha256')
      .update(JSON.stringify([from.href, user, login]))
      .digest('hex');
    const path = progress ?? `import-${optionsHash.slice(0, 12)}.progress`;
    const fileText = await readFile(path, 'utf8').catch(() => '');
    const { data: storedProgress } = fileSchema.safeParse(parseJson(fileText));
    const current = storedProgress?.import === optionsHash ? storedProgress : noProgress;
    return new ImportProgressFile(path, optionsHash, current, warn);
  }

  /** Sets the progress, and saves it at most once per second. */
  async update(progress: ImportProgress): Promise<void> {
    this.current = progress;
    if (performance.now() - this.savedAt >= saveIntervalMs) await this.save();
  }

  /** Replaces the file atomically. If this fails, warns once, and writes the file never again. */
  async save(): Promise<void> {
    if (this.isUnwritable) return;
    this.savedAt = performance.now();
    const temporaryPath = `${this.path}.${process.pid}`;
    try {
      await writeFile(
        temporaryPath,
        JSON.stringify({ import: this.optionsHash, ...this.current }),
        {
          mode: 0o600,
        },
      );
      await rename(temporaryPath, this.path);
    } catch (error) {
      this.isUnwritable = true;
      this.warn(
        `the progress is not saved (${(error as Error).message}); if the import is interrupted, ` +
          'it starts again. --progress FILE names another file',
      );
    }
  }

  /** Removes the file after a complete import, so that the next import starts at the beginning. */
  async remove(): Promise<void> {
    if (!this.isUnwritable) await rm(this.path, { force: true });
  }
}
