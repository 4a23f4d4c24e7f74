import { Failure } from '#contracts';
import type { FailedEntry, Upload } from './episode-entry.rule.js';
import { type EpisodeRow, shown } from './episode.rule.js';

/** More bytes than any verdict has beside what it repeats of its entry. */
const leastVerdictBytes = 200;
const envelopeBytes = '{"success":[],"failure":[]}'.length;

const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

/**
 * The bytes of JSON that an upload's answer has room for (docs/interface.md, "Size"). Invariants: what is promised is
 * never more than that; each entry that is still to come has room for a failure with its temporary_id; an episode
 * counts as often as it is shown, with the size that it has now.
 */
export class AnswerBudget {
  private freeBytes: number;
  /** How large each episode's item is, and how many items show it. */
  private readonly items = new Map<number, { bytes: number; shown: number }>();

  /** @throws Failure `invalid` where there is no room for so many verdicts. */
  constructor(maxBytes: number, entries: readonly (Upload | FailedEntry)[]) {
    this.freeBytes = maxBytes - envelopeBytes - entries.reduce((sum, entry) => sum + reservedFor(entry), 0);
    if (this.freeBytes < 0) throw new Failure('invalid');
  }

  /** Takes room for an item of a row as it is about to be, after it took in another one; says whether there was. */
  reserve(entry: Upload, row: EpisodeRow, guid: string, absorbed?: EpisodeRow): boolean {
    const bytes = bytesOf(shown(row, guid)) + 1;
    const before = this.items.get(row.id) ?? { bytes: 0, shown: 0 };
    const gone = absorbed && this.items.get(absorbed.id);
    const items = before.shown + (gone?.shown ?? 0) + 1;
    const more =
      bytes * items -
      before.bytes * before.shown -
      (gone ? gone.bytes * gone.shown : 0) +
      temporaryIdBytes(entry) -
      reservedFor(entry);
    if (more > this.freeBytes) return false;
    this.freeBytes -= more;
    this.items.set(row.id, { bytes, shown: items });
    if (absorbed) this.items.delete(absorbed.id);
    return true;
  }

  /** The verdict as there is room for it: without what it echoes but the client's own name where there is not. */
  fit(refusal: FailedEntry): FailedEntry {
    const more = bytesOf(refusal) + 1 - reservedFor(refusal);
    if (more <= this.freeBytes) {
      this.freeBytes -= Math.max(more, 0);
      return refusal;
    }
    const { temporary_id, code, message } = refusal;
    return { ...(temporary_id !== undefined && { temporary_id }), code, message };
  }
}

/** The bytes of `temporary_id` in an item. */
function temporaryIdBytes(entry: Upload | FailedEntry): number {
  const name = 'sent' in entry ? entry.temporaryId : entry.temporary_id;
  return name === undefined ? 0 : bytesOf({ temporary_id: name });
}

function reservedFor(entry: Upload | FailedEntry): number {
  return leastVerdictBytes + temporaryIdBytes(entry);
}
