import { setTimeout as delay } from 'node:timers/promises';
import { Controller } from '@nestjs/common';
import {
  Failure,
  readImport,
  type RequestOf,
  startImport,
  stopImport,
  unlockImport,
} from '#contracts';
import { Handle } from '#transport';
import { DueWork } from '../due-work.js';
import { ImportRepository } from './import.repository.js';

/** Interval between reads of a requested import, and maximum wait for its start, in ms. */
const [pollMs, startLimitMs] = [250, 10_000];

/** Handles the requests about imports from other servers (ADR 65). */
@Controller()
export class ImportService {
  constructor(
    private readonly imports: ImportRepository,
    private readonly work: DueWork,
  ) {}

  /**
   * Requests an import. Returns its id, and the public key that encrypts the password for it.
   *
   * @throws Failure `unavailable` if too many imports wait, or no replica claims this one in 10 s.
   */
  @Handle(startImport)
  async start({ userId, source, login }: RequestOf<typeof startImport>) {
    const id = await this.imports.requestImport(userId, source, login);
    if (id === undefined) throw new Failure('unavailable');
    this.work.notify();
    for (let waitedMs = 0; waitedMs < startLimitMs; waitedMs += pollMs) {
      await delay(pollMs);
      const currentImport = await this.imports.readImport(userId);
      if (currentImport?.id === id && currentImport.publicKey !== null)
        return { id, publicKey: currentImport.publicKey.toString('base64') };
    }
    throw new Failure('unavailable');
  }

  /** Stores the encrypted password of an import, unless the import was replaced or stopped. */
  @Handle(unlockImport)
  async unlock({ userId, id, sealed }: RequestOf<typeof unlockImport>) {
    await this.imports.storePassword(userId, id, Buffer.from(sealed, 'base64'));
    return this.read({ userId });
  }

  /** Returns the state of the user's import. @throws Failure `not_found` without an import. */
  @Handle(readImport)
  async read({ userId }: RequestOf<typeof readImport>) {
    const currentImport = await this.imports.readImport(userId);
    if (!currentImport) throw new Failure('not_found');
    return currentImport.shown;
  }

  /** Stops the user's import, and returns its state. @throws Failure `not_found` without one. */
  @Handle(stopImport)
  async stop({ userId }: RequestOf<typeof stopImport>) {
    await this.imports.stopImport(userId);
    return this.read({ userId });
  }
}
