import { type EpisodeEntry, Failure, type UploadAnswer } from '#contracts';
import { type EpisodeRow, toShownEpisode } from './episode.rules.js';

/** The failure of an entry in the answer: code, message and the entry's identifiers. */
export type FailedEntry = UploadAnswer['failure'][number];
/** A valid entry of an upload, or the failure of an invalid one. */
type AnsweredEntry = Pick<EpisodeEntry, 'temporaryId'> | FailedEntry;

/** Upper bound for the bytes of a failure's code and message, without identifiers. */
const failureBytes = 200;
const envelope = (success = '', failure = '') => `{"success":[${success}],"failure":[${failure}]}`;
const envelopeBytes = envelope().length;

const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

/**
 * Budget of bytes for the JSON answer to an upload (docs/reference/episodes.md, "Size").
 * Invariants:
 * - Each entry that is not yet applied has a reservation for a failure with its temporary_id.
 * - An episode with several entries counts once for each of them, with its current size.
 * - The sum of all reservations never exceeds the budget.
 */
export class AnswerBudget {
  private freeBytes: number;
  /**
   * By row id: the episode as JSON, its bytes including a comma, and the number of items in the
   * answer that show it.
   */
  private readonly items = new Map<number, { text: string; bytes: number; shown: number }>();

  /** @throws Failure `invalid` if failures for all entries would exceed the budget. */
  constructor(maxBytes: number, entries: readonly AnsweredEntry[]) {
    this.freeBytes =
      maxBytes - envelopeBytes - entries.reduce((sum, entry) => sum + reservedBytes(entry), 0);
    if (this.freeBytes < 0) throw new Failure('invalid');
  }

  /**
   * Reserves the bytes of an applied entry's episode. The items of `absorbed` episodes then show
   * this episode, too. @returns false, without a reservation, if the budget is too small.
   */
  reserve(row: EpisodeRow, guid: string, absorbed: readonly EpisodeRow[] = []): boolean {
    const text = JSON.stringify(toShownEpisode(row, row.statuses, guid));
    const bytes = Buffer.byteLength(text) + 1;
    const before = [row, ...absorbed].map(({ id }) => this.items.get(id) ?? { bytes: 0, shown: 0 });
    const items = before.reduce((sum, item) => sum + item.shown, 1);
    const reserved = before.reduce((sum, item) => sum + item.bytes * item.shown, 0);
    // failureBytes is subtracted, because each entry has a reservation for a failure. That
    // reservation includes the bytes of the temporary_id, which the success needs as well.
    const more = bytes * items - reserved - failureBytes;
    if (more > this.freeBytes) return false;
    this.freeBytes -= more;
    for (const { id } of absorbed) this.items.delete(id);
    this.items.set(row.id, { text, bytes, shown: items });
    return true;
  }

  /** Returns the answer as JSON; `success` shows each episode as it is after the whole batch. */
  answer(
    success: readonly { id: number; temporaryId: string | number | undefined }[],
    failure: readonly FailedEntry[],
  ): string {
    const items = success.map(({ id, temporaryId }) => {
      const { text } = this.items.get(id) as { text: string };
      return temporaryId === undefined
        ? text
        : `${text.slice(0, -1)},"temporary_id":${JSON.stringify(temporaryId)}}`;
    });
    return envelope(items.join(','), failure.map((failed) => JSON.stringify(failed)).join(','));
  }

  /**
   * Reserves bytes for a failed entry, and returns it. If its identifiers do not fit, the returned
   * failure has only `temporary_id`.
   */
  reserveFailure(failed: FailedEntry): FailedEntry {
    const more = bytesOf(failed) + 1 - reservedBytes(failed);
    if (more <= this.freeBytes) {
      this.freeBytes -= Math.max(more, 0);
      return failed;
    }
    const { temporary_id, code, message } = failed;
    return { ...(temporary_id !== undefined && { temporary_id }), code, message };
  }
}

function temporaryIdBytes(entry: AnsweredEntry): number {
  const name = 'message' in entry ? entry.temporary_id : entry.temporaryId;
  return name === undefined ? 0 : bytesOf({ temporary_id: name });
}

function reservedBytes(entry: AnsweredEntry): number {
  return failureBytes + temporaryIdBytes(entry);
}
