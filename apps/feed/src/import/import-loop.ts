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

/** Thrown if no password arrives, for example after a crash of the gateway that requested it. */
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
 * - The gateway encrypts the password with the public key of this process, and Postgres stores only
 *   the encrypted password. The process never stores its key pair. An import whose process died
 *   needs the password again.
 * - All writes are idempotent. Each second, the progress of the finished writes is saved. So the
 *   next run repeats at most one second of work.
 * - If a user stops or replaces an import, its run ends at the next save, and no longer changes the
 *   row of the import.
 * - A shutdown ends running imports as `interrupted`.
 */
export class ImportLoop extends WorkLoop<ClaimedImport, ImportLoopOptions> {
  private readonly keyPair = promisify(generateKeyPair)('rsa', { modulusLength: 3_072 });

  constructor(options: ImportLoopOptions) {
    super(options, { kind: 'imports', concurrency: 4, pauseAfterFaultMs: 500 });
  }

  /** Claims the import that waits longest. */
  protected override async claim(): Promise<ClaimedImport[]> {
    const { publicKey } = await this.keyPair;
    const claimedImport = await this.options.repository.claimImport(
      publicKey.export({ type: 'spki', format: 'der' }),
    );
    return claimedImport ? [claimedImport] : [];
  }

  protected override async run(claimed: ClaimedImport): Promise<void> {
    const { privateKey: key } = await this.keyPair;
    const padding = constants.RSA_PKCS1_OAEP_PADDING;
    const decrypt = (encryptedPassword: Buffer) =>
      privateDecrypt({ key, oaepHash: 'sha256', padding }, encryptedPassword).toString();
    await new ImportRun(claimed, this.options, this.stopped.signal, decrypt).run();
  }
}

/** Runs one import, and saves its progress every second. */
class ImportRun {
  /** Entries of the account that cannot be imported. */
  private readonly skipped = new SkippedEntries();
  /** Aborts at the first save after the user stopped or replaced the import. */
  private readonly endedByUser = new AbortController();
  private readonly limitedSignal: LimitedSignal;
  /** Aborts at the time limit, at a shutdown, and together with `endedByUser`. */
  private readonly stopped: AbortSignal;
  private readonly writer: AccountWriter;
  private readonly progressStore: ProgressStore;

  constructor(
    private readonly claimed: ClaimedImport,
    private readonly options: ImportLoopOptions,
    private readonly shutdown: AbortSignal,
    private readonly decrypt: (encryptedPassword: Buffer) => string,
  ) {
    this.limitedSignal = createLimitedSignal(importLimitMs, [shutdown, this.endedByUser.signal]);
    this.stopped = this.limitedSignal.signal;
    const { userId, cursor } = claimed;
    this.writer = new AccountWriter(options.client, userId, this.stopped, this.skipped);
    this.progressStore = {
      current: importProgressSchema.safeParse(JSON.parse(cursor ?? 'null')).data ?? noProgress,
      update: async (next) => void (this.progressStore.current = next),
    };
  }

  /** Runs the import, and saves its outcome. Never rejects. */
  async run(): Promise<void> {
    const runEnd = new AbortController();
    const saveLoop = this.saveRepeatedly(runEnd.signal);
    const fault = await this.importAccount().then(
      () => undefined,
      (error: unknown) => this.toFault(error),
    );
    this.limitedSignal.release();
    runEnd.abort();
    await saveLoop;
    const finalState = fault === undefined ? 'finished' : 'failed';
    // If this save fails, the import is shown as `interrupted` after 30 s without a save.
    await this.saveProgress(finalState, fault).catch(() => undefined);
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
    await new AccountImport(server, this.writer, this.progressStore, stopped).run();
  }

  /** Waits for the password, which the gateway sends after this process has claimed the import. */
  private async waitForPassword(): Promise<string> {
    for (let waitedMs = 0; waitedMs < passwordLimitMs; waitedMs += passwordPollMs) {
      const encryptedPassword = await this.saveProgress('running');
      if (encryptedPassword) return this.decrypt(encryptedPassword);
      await delay(passwordPollMs, undefined, { signal: this.stopped });
    }
    throw noPasswordError;
  }

  private async saveRepeatedly(runEnd: AbortSignal): Promise<void> {
    while (!runEnd.aborted) {
      // If a save fails, the next one follows a second later.
      await this.saveProgress('running').catch(() => undefined);
      await delay(saveMs, undefined, { signal: runEnd }).catch(() => undefined);
    }
  }

  /**
   * Saves the progress. Returns the encrypted password: null before it arrives, `undefined` if the
   * user stopped or replaced the import.
   */
  private async saveProgress(state: RunProgress['state'], fault?: ShownImport['fault']) {
    const { current: cursor } = this.progressStore;
    const { written, skipped } = this.writer;
    const report = { ...written, skipped: skipped.total, skipped_entries: skipped.entries };
    const encryptedPassword = await this.options.repository.saveProgress(this.claimed, {
      cursor,
      report,
      state,
      fault,
    });
    if (encryptedPassword === undefined) this.endedByUser.abort();
    return encryptedPassword;
  }

  private toFault(error: unknown): ShownImport['fault'] {
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
