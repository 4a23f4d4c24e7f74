import { constants, generateKeyPair, privateDecrypt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Failure, type ShownImport } from '#contracts';
import type { AddressGuard, Fetcher } from '#fetch';
import {
  AccountImport,
  AccountWriter,
  type CursorStore,
  cursorSchema,
  openSource,
  ServerError,
  SkippedEntries,
  startCursor,
} from '#gpodder-data';
import type { StreamClient } from '#transport';
import { type LoopOptions, WorkLoop } from '../work.loop.js';
import type { ClaimedImport, ImportRepository, SavedRun } from './import.repository.js';

/** Pauses in ms: between two saves, and between reads of the password. */
const [saveMs, passwordPollMs] = [1_000, 100];
/** The longest wait for a password, and the longest import, in milliseconds. */
const [passwordMs, importMs] = [10_000, 3_600_000];

/** The gateway ended between the start and the password. */
const noPassword = new Error('no password arrived');

/** Options of an {@link ImportLoop}. */
export interface ImportLoopOptions extends LoopOptions {
  readonly repository: ImportRepository;
  readonly client: StreamClient;
  /** With the limits of imports. */
  readonly fetcher: Fetcher;
  readonly guard: AddressGuard;
}

/**
 * Runs imports of accounts from other servers. Invariants:
 * - The password exists outside this process only encrypted, with a key pair that ends with it. An
 *   import whose process died needs the password again.
 * - All writes are idempotent. The cursor is saved after the actions before it were written, so a
 *   next run repeats at most one second of work.
 * - A run that was stopped or replaced ends at its next save, and no longer changes the row.
 * - A shutdown ends running imports as `interrupted`.
 */
export class ImportLoop extends WorkLoop<ClaimedImport, ImportLoopOptions> {
  private readonly keys = promisify(generateKeyPair)('rsa', { modulusLength: 3_072 });

  constructor(options: ImportLoopOptions) {
    super(options, { kind: 'imports', concurrency: 4, faultMs: 500 });
  }

  /** Claims the import that waits longest. */
  protected override async claim(): Promise<ClaimedImport[]> {
    const { publicKey } = await this.keys;
    const claimed = await this.options.repository.claim(
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
  private readonly stopped: AbortSignal;
  private readonly writer: AccountWriter;
  private readonly store: CursorStore;

  constructor(
    private readonly claimed: ClaimedImport,
    private readonly options: ImportLoopOptions,
    private readonly shutdown: AbortSignal,
    private readonly decrypt: (sealed: Buffer) => string,
  ) {
    this.stopped = AbortSignal.any([shutdown, this.replaced.signal, AbortSignal.timeout(importMs)]);
    const { userId, cursor } = claimed;
    this.writer = new AccountWriter(options.client, userId, this.stopped, this.skipped);
    this.store = {
      cursor: cursorSchema.safeParse(JSON.parse(cursor ?? 'null')).data ?? startCursor,
      moveTo: async (next) => void (this.store.cursor = next),
    };
  }

  /** Never rejects. */
  async run(): Promise<void> {
    const done = new AbortController();
    const saving = this.saveUntil(done.signal);
    const fault = await this.import().then(
      () => undefined,
      (error: unknown) => this.faultOf(error),
    );
    done.abort();
    await saving;
    const end = fault === undefined ? 'finished' : 'failed';
    // Without Postgres the import is shown as `interrupted`.
    await this.save(end, fault).catch(() => undefined);
  }

  private async import(): Promise<void> {
    const { fetcher, guard } = this.options;
    const { login } = this.claimed;
    const password = await this.password();
    const source = new URL(this.claimed.source);
    const host = source.hostname.replace(/^\[|\]$/g, '');
    if (source.protocol === 'http:' && !guard.isException(host, Number(source.port) || 80))
      throw new ServerError('http reveals the password on the network', 'refused');
    const { stopped, skipped } = this;
    const server = await openSource(source, { login, password }, { fetcher, stopped, skipped });
    await new AccountImport(server, this.writer, this.store, stopped).run();
  }

  /** Waits for the password, which follows the claim. */
  private async password(): Promise<string> {
    for (let waitedMs = 0; waitedMs < passwordMs; waitedMs += passwordPollMs) {
      const sealed = await this.save('running');
      if (sealed) return this.decrypt(sealed);
      await delay(passwordPollMs, undefined, { signal: this.stopped });
    }
    throw noPassword;
  }

  private async saveUntil(done: AbortSignal): Promise<void> {
    while (!done.aborted) {
      // A failed save is repeated a second later.
      await this.save('running').catch(() => undefined);
      await delay(saveMs, undefined, { signal: done }).catch(() => undefined);
    }
  }

  private async save(state: SavedRun['state'], fault?: ShownImport['fault']) {
    const { cursor } = this.store;
    const { written, skipped } = this.writer;
    const report = { ...written, skipped: skipped.total, skipped_entries: skipped.entries };
    const sealed = await this.options.repository.save(this.claimed, {
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
    if (this.shutdown.aborted || isRefused || error === noPassword) return 'interrupted';
    if (this.stopped.aborted) return 'timeout';
    this.options.log.error({ stack: (error as Error).stack }, 'import failed: internal error');
    return 'internal';
  }
}
