import { Failure } from '#contracts';
import type { FailedEntry, Upload } from './upload.rule.js';
import { type EpisodeRow, shown } from './episode.rule.js';

/** More bytes than any failure has beside what it repeats of its entry. */
const failureBytes = 200;
/** The JSON of an answer, of the JSON of its items. */
const envelope = (success = '', failure = '') => `{"success":[${success}],"failure":[${failure}]}`;
const envelopeBytes = envelope().length;

const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

/**
 * The bytes of JSON that the answer to an upload may have (docs/reference/interface.md, "Size"). Invariants:
 * - for each entry that is still to come, a failure with its temporary_id is reserved;
 * - an episode counts as often as the answer shows it, with the size that it has by now;
 * - what is reserved in all is never more than the answer may have.
 */
export class AnswerBudget {
  private freeBytes: number;
  /** Each episode as JSON, how large it is with a comma, and how many items show it. */
  private readonly items = new Map<number, { text: string; bytes: number; shown: number }>();

  /** @throws Failure `invalid` where not even a failure of each entry has room. */
  constructor(maxBytes: number, entries: readonly (Upload | FailedEntry)[]) {
    this.freeBytes = maxBytes - envelopeBytes - entries.reduce((sum, entry) => sum + reservedFor(entry), 0);
    if (this.freeBytes < 0) throw new Failure('invalid');
  }

  /** Reserves room to show an entry's row as it is about to be, unless there is none; says whether there was. */
  reserve(row: EpisodeRow, guid: string, absorbed: readonly EpisodeRow[] = []): boolean {
    const text = JSON.stringify(shown(row, row.statuses, guid));
    const bytes = Buffer.byteLength(text) + 1;
    const before = [row, ...absorbed].map(({ id }) => this.items.get(id) ?? { bytes: 0, shown: 0 });
    const items = before.reduce((sum, item) => sum + item.shown, 1);
    const reserved = before.reduce((sum, item) => sum + item.bytes * item.shown, 0);
    // The item's temporary_id is reserved already, with the failure that is not needed any more.
    const more = bytes * items - reserved - failureBytes;
    if (more > this.freeBytes) return false;
    this.freeBytes -= more;
    for (const { id } of absorbed) this.items.delete(id);
    this.items.set(row.id, { text, bytes, shown: items });
    return true;
  }

  /** The answer: each item in `success` shows its episode as the last entry that was about it left it. */
  answer(
    success: readonly { id: number; temporaryId: string | number | undefined }[],
    failure: readonly FailedEntry[],
  ): string {
    const items = success.map(({ id, temporaryId }) => {
      const { text } = this.items.get(id) as { text: string };
      return temporaryId === undefined ? text : `${text.slice(0, -1)},"temporary_id":${JSON.stringify(temporaryId)}}`;
    });
    return envelope(items.join(','), failure.map((failed) => JSON.stringify(failed)).join(','));
  }

  /** A failure as there is room for it: whole, or without all that it repeats of its entry but the temporary_id. */
  fit(failed: FailedEntry): FailedEntry {
    const more = bytesOf(failed) + 1 - reservedFor(failed);
    if (more <= this.freeBytes) {
      this.freeBytes -= Math.max(more, 0);
      return failed;
    }
    const { temporary_id, code, message } = failed;
    return { ...(temporary_id !== undefined && { temporary_id }), code, message };
  }
}

/** The bytes of `temporary_id` in an item. */
function temporaryIdBytes(entry: Upload | FailedEntry): number {
  const name = 'sent' in entry ? entry.temporaryId : entry.temporary_id;
  return name === undefined ? 0 : bytesOf({ temporary_id: name });
}

function reservedFor(entry: Upload | FailedEntry): number {
  return failureBytes + temporaryIdBytes(entry);
}
