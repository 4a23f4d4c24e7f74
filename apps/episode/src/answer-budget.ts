import { type EpisodeEntry, Failure, type UploadAnswer } from '#contracts';
import { type EpisodeRow, toShownEpisode } from './episode.rules.js';

/** The failure of an entry in the answer: code, message and the entry's identifiers. */
export type FailedEntry = UploadAnswer['failure'][number];
/** A valid entry of an upload, or the failure of an invalid one. */
type AnsweredEntry = Pick<EpisodeEntry, 'temporaryId'> | FailedEntry;

/** Upper bound for the bytes of a failure's code and message, without identifiers. */
const failureBytes = 200;
const buildAnswer = (success = '', failure = '') =>
  `{"success":[${success}],"failure":[${failure}]}`;
const emptyAnswerBytes = buildAnswer().length;

const countBytes = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

/**
 * Limits the bytes of the JSON answer to an upload (docs/reference/episodes.md, "Size").
 * Invariants:
 * - Each entry that is not yet applied has a reservation for a failure with its temporary_id.
 * - An episode with several entries counts once for each of them, with its current size.
 * - The sum of all reservations never exceeds the limit.
 */
export class AnswerBudget {
  private freeBytes: number;
  /**
   * By row id: the episode as JSON, its bytes including a comma, and the number of items in the
   * answer that show it.
   */
  private readonly items = new Map<number, { json: string; bytes: number; count: number }>();

  /** @throws Failure `invalid` if failures for all entries would exceed `maxBytes`. */
  constructor(maxBytes: number, entries: readonly AnsweredEntry[]) {
    this.freeBytes =
      maxBytes -
      emptyAnswerBytes -
      entries.reduce((sum, entry) => sum + countReservedBytes(entry), 0);
    if (this.freeBytes < 0) throw new Failure('invalid');
  }

  /**
   * Reserves the bytes of an applied entry's episode. The items of `absorbed` episodes then show
   * this episode, too. @returns false, without a reservation, if too few bytes are free.
   */
  reserve(row: EpisodeRow, guid: string, absorbed: readonly EpisodeRow[] = []): boolean {
    const json = JSON.stringify(toShownEpisode(row, row.statuses, guid));
    const bytes = Buffer.byteLength(json) + 1;
    const oldItems = [row, ...absorbed].map(
      ({ id }) => this.items.get(id) ?? { bytes: 0, count: 0 },
    );
    const count = oldItems.reduce((sum, item) => sum + item.count, 1);
    const oldBytes = oldItems.reduce((sum, item) => sum + item.bytes * item.count, 0);
    // failureBytes is subtracted, because the entry no longer needs its reservation for a failure.
    // The bytes of the temporary_id stay reserved, because the success has it, too.
    const additionalBytes = bytes * count - oldBytes - failureBytes;
    if (additionalBytes > this.freeBytes) return false;
    this.freeBytes -= additionalBytes;
    for (const { id } of absorbed) this.items.delete(id);
    this.items.set(row.id, { json, bytes, count });
    return true;
  }

  /** Returns the answer as JSON; `success` shows each episode as it is after the whole batch. */
  answer(
    success: readonly { id: number; temporaryId: string | number | undefined }[],
    failure: readonly FailedEntry[],
  ): string {
    const items = success.map(({ id, temporaryId }) => {
      const { json } = this.items.get(id) as { json: string };
      return temporaryId === undefined
        ? json
        : `${json.slice(0, -1)},"temporary_id":${JSON.stringify(temporaryId)}}`;
    });
    return buildAnswer(items.join(','), failure.map((failed) => JSON.stringify(failed)).join(','));
  }

  /**
   * Reserves bytes for a failed entry, and returns the failure. If the bytes of its identifiers are
   * not free, the returned failure has only `temporary_id`.
   */
  reserveFailure(failed: FailedEntry): FailedEntry {
    const additionalBytes = countBytes(failed) + 1 - countReservedBytes(failed);
    if (additionalBytes <= this.freeBytes) {
      this.freeBytes -= Math.max(additionalBytes, 0);
      return failed;
    }
    const { temporary_id, code, message } = failed;
    return { ...(temporary_id !== undefined && { temporary_id }), code, message };
  }
}

function countTemporaryIdBytes(entry: AnsweredEntry): number {
  const temporaryId = 'message' in entry ? entry.temporary_id : entry.temporaryId;
  return temporaryId === undefined ? 0 : countBytes({ temporary_id: temporaryId });
}

function countReservedBytes(entry: AnsweredEntry): number {
  return failureBytes + countTemporaryIdBytes(entry);
}
