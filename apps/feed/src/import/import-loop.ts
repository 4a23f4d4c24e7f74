import { constants, generateKeyPair, privateDecrypt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Failure, type ShownImport } from '#contracts';
import type { AddressGuard, Fetcher } from '#fetch';
import {
  AccountImport,
  AccountWriter,
  type ProgressStore,
  importProgressSchema,
  openSource,
  ServerError,
  SkippedEntries,
  noProgress,
} from '#gpodder-data';
import { createLimitedSignal, type LimitedSignal } from '#runtime';
import type { StreamClient } from '#transport';
import { type LoopOptions, WorkLoop } from '../work-loop.js';
import type { ClaimedImport, ImportRepository, RunProgress } from './import.repository.js';

/** Intervals in milliseconds: between saves of the progress, and between reads of the password. */
const [saveMs, passwordPollMs] = [1_000, 100];
/** Time limits in milliseconds: of the wait for a password, and of a whole import. */
const [passwordLimitMs, importLimitMs] = [10_000, 3_600_000];

/** Thrown if no password arrives, because the gateway ended after it had started the import. */
const noPasswordError = new Error('no password arrived');

/** Options of an {@link ImportLoop}. */
export interface ImportLoopOptions extends LoopOptions {
  readonly repository: ImportRepository;
  readonly client: StreamClient;
  /** A fetcher with the time and size limits of imports. */
  readonly fetcher: Fetcher;
  readonly guard: AddressGuard;
}

/**
 * Runs imports of accounts from other servers. Invariants:
 * - Outside this process, the password exists only encrypted, also in Postgres. The process creates
 *   the key pair and never stores it. An import whose process died needs the password again.
 * - All writes are idempotent. The progress is saved after its actions were written. So the next
 *   run repeats at most one second of work.
 * - A run that was stopped or replaced ends at its next save, and no longer changes the row.
 * - A shutdown ends running imports as `interrupted`.
 */
export class ImportLoop extends WorkLoop<ClaimedImport, ImportLoopOptions> {
  private readonly keys = promisify(generateKeyPair)('rsa', { modulusLength: 3_072 });

  constructor(options: ImportLoopOptions) {
    super(options, { kind: 'imports', concurrency: 4, pauseAfterFaultMs: 500 });
  }

  /** Claims the import that waits longest. */
  protected override async claim(): Promise<ClaimedImport[]> {
    const { publicKey } = await this.keys;
    const claimed = await this.options.repository.claimImport(
      publicKey.export({ type: 'spki', format: 'der' }),
    );
    return claimed ? [claimed] : [];
  }

  protected override async run(claimed: ClaimedImport): Promise<void> {
    const { privateKey: key } = await this.keys;
    const padding = constants.RSA_PKCS1_OAEP_PADDING;
    const decrypt = (sealed: Buffer) =>
      privateDecrypt({ key, oaepHash: 'sha256', padding }, sealed).toString();
    await new ImportRun(claimed, this.options, this.stopped.signal, decrypt).run();
  }
}

/** Runs one import, and saves its progress every second. */
class ImportRun {
  private readonly skipped = new SkippedEntries();
  /** Aborts when the import was stopped or replaced. */
  private readonly replaced = new AbortController();
  private readonly limit: LimitedSignal;
  /** Aborts at the time limit, at a shutdown, and when the import was stopped or replaced. */
  private readonly stopped: AbortSignal;
  private readonly writer: AccountWriter;
  private readonly store: ProgressStore;

  constructor(
    private readonly claimed: ClaimedImport,
    private readonly options: ImportLoopOptions,
    private readonly shutdown: AbortSignal,
    private readonly decrypt: (sealed: Buffer) => string,
  ) {
    this.limit = createLimitedSignal(importLimitMs, [shutdown, this.replaced.signal]);
    this.stopped = this.limit.signal;
    const { userId, cursor } = claimed;
    this.writer = new AccountWriter(options.client, userId, this.stopped, this.skipped);
    this.store = {
      current: importProgressSchema.safeParse(JSON.parse(cursor ?? 'null')).data ?? noProgress,
      update: async (next) => void (this.store.current = next),
    };
  }

  /** Runs the import, and saves its outcome. Never rejects. */
  async run(): Promise<void> {
    const done = new AbortController();
    const saving = this.saveRepeatedly(done.signal);
    const fault = await this.importAccount().then(
      () => undefined,
      (error: unknown) => this.faultOf(error),
    );
    this.limit.release();
    done.abort();
    await saving;
    const end = fault === undefined ? 'finished' : 'failed';
    // If this save fails, the import is shown as `interrupted` after 30 s without a save.
    await this.saveProgress(end, fault).catch(() => undefined);
  }

  private async importAccount(): Promise<void> {
    const { fetcher, guard } = this.options;
    const { login } = this.claimed;
    const password = await this.waitForPassword();
    const source = new URL(this.claimed.source);
    const host = source.hostname.replace(/^\[|\]$/g, '');
    if (source.protocol === 'http:' && !guard.isException(host, Number(source.port) || 80))
      throw new ServerError('http reveals the password on the network', 'refused');
    const { stopped, skipped } = this;
    const server = await openSource(source, { login, password }, { fetcher, stopped, skipped });
    await new AccountImport(server, this.writer, this.store, stopped).run();
  }

  /** Waits for the password, which the gateway sends after this process has claimed the import. */
  private async waitForPassword(): Promise<string> {
    for (let waitedMs = 0; waitedMs < passwordLimitMs; waitedMs += passwordPollMs) {
      const sealed = await this.saveProgress('running');
      if (sealed) return this.decrypt(sealed);
      await delay(passwordPollMs, undefined, { signal: this.stopped });
    }
    throw noPasswordError;
  }

  private async saveRepeatedly(done: AbortSignal): Promise<void> {
    while (!done.aborted) {
      // If a save fails, the next one follows a second later.
      await this.saveProgress('running').catch(() => undefined);
      await delay(saveMs, undefined, { signal: done }).catch(() => undefined);
    }
  }

  private async saveProgress(state: RunProgress['state'], fault?: ShownImport['fault']) {
    const { current: cursor } = this.store;
    const { written, skipped } = this.writer;
    const report = { ...written, skipped: skipped.total, skipped_entries: skipped.entries };
    const sealed = await this.options.repository.saveProgress(this.claimed, {
      cursor,
      report,
      state,
      fault,
    });
    if (sealed === undefined) this.replaced.abort();
    return sealed;
  }

  private faultOf(error: unknown): ShownImport['fault'] {
    if (error instanceof ServerError) return error.fault;
    const isRefused = error instanceof Failure && error.code === 'unauthorized';
    if (this.shutdown.aborted || isRefused || error === noPasswordError) return 'interrupted';
    if (this.stopped.aborted) return 'timeout';
    this.options.log.error(
      { stack: (error as Error).stack },
      'account import failed: internal error; the user can start it again',
    );
    return 'internal';
  }
}
