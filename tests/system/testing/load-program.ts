import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync, existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { callProgram, repository, TokenIssuer } from '#testing';
import { podcastSync } from '../../../apps/cli/src/podcast-sync.js';

/** A rejected line, as in the file of rejected lines. */
export interface RejectedLine {
  line: number;
  code: string;
  message: string;
}

/** Returns the lines of a user's part. The last line has the correct counts by default. */
export function partOf(
  user: string,
  subscriptions: readonly object[],
  episodes: readonly object[] = [],
  end: object = { subscriptions: subscriptions.length, episodes: episodes.length },
): object[] {
  return [
    { user: { issuer: TokenIssuer.issuer, subject: user } },
    ...subscriptions.map((subscription) => ({ subscription })),
    ...episodes.map((episode) => ({ episode })),
    { end },
  ];
}

/** Returns the text of a file with these lines; strings are not encoded. */
export function fileOf(...lines: readonly (object | string)[]): string {
  return lines
    .map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`)
    .join('');
}

/** The result of a run of `load`. */
export interface LoadResult {
  readonly code: number | null;
  readonly stderr: string;
  readonly rejected: RejectedLine[];
}

/** Runs `podcast-sync load` on files in its own directory. */
export class LoadProgram {
  readonly folder = mkdtempSync(join(tmpdir(), 'podcast-sync-load-test-'));
  private child: ChildProcess | undefined;
  private files = 0;

  private readonly environment: Readonly<Record<string, string>>;

  constructor(redisUrl: string) {
    this.environment = { REDIS_URL: redisUrl, AUTH_OWN_ISSUER: TokenIssuer.issuer };
  }

  /** Writes a file. @returns its path. */
  write(content: string | Buffer): string {
    const path = join(this.folder, `${(this.files += 1)}.ndjson`);
    writeFileSync(path, content);
    return path;
  }

  /** Writes a file and loads it in this process. */
  async load(content: string | Buffer, ...options: string[]): Promise<LoadResult> {
    return this.run(this.write(content), ...options);
  }

  /** Loads an existing file in this process. */
  async run(path: string, ...options: string[]): Promise<LoadResult> {
    const { code, stderr } = await callProgram(
      podcastSync,
      ['load', ...options, path],
      this.environment,
    );
    return { code, stderr, rejected: readRejectedLines(`${path}.refused`) };
  }

  /** Starts the built program on a file, or on `input` for the path `-`. */
  begin(path: string, options: readonly string[] = [], input?: Buffer) {
    const program = join(repository, 'dist', 'programs', 'podcast-sync.js');
    const child = spawn(process.execPath, [program, 'load', ...options, path], {
      cwd: this.folder,
      env: { PATH: process.env.PATH, ...this.environment },
      stdio: ['pipe', 'ignore', 'pipe'],
    });
    this.child = child;
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
    let stderr = '';
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    const rejectionFile = path === '-' ? join(this.folder, 'stdin.refused') : `${path}.refused`;
    const ended = new Promise<LoadResult>((resolve) =>
      child.once('close', (code) =>
        resolve({ code, stderr, rejected: readRejectedLines(rejectionFile) }),
      ),
    );
    return { ended, kill: () => child.kill('SIGKILL'), stop: () => child.kill('SIGTERM') };
  }

  close(): void {
    this.child?.kill('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function readRejectedLines(path: string): RejectedLine[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as RejectedLine);
}
