import type { DeletionStatus } from '#contracts';
import type { FaultKind } from '#database';

/** How a deletion ends. The cause of a FAILURE is for operators; clients are not shown it. */
export type Ending =
  { readonly status: 'SUCCESS'; readonly cause?: undefined } | { readonly status: 'FAILURE'; readonly cause: string };

/** What a worker does with a record: `leave` it as it is, end it in SUCCESS with the cascade, or end it in FAILURE. */
export type Step = 'leave' | Ending;

/** How a deletion ends when a later write of the user won against it. */
export const overtaken: Ending = {
  status: 'FAILURE',
  cause: 'the subscription was added again, merged or deleted since the request',
};

/** How a deletion ends that was asked for by a DELETE older than what stands. */
export const superseded: Ending = {
  status: 'FAILURE',
  cause: 'the listener subscribed or unsubscribed later than the time of the request',
};

/**
 * What a worker does with a record that it has locked. SUCCESS and FAILURE are final (docs/interface.md, "Deletion"); the
 * table's rights, its checks and the functions that change it enforce the same.
 *
 * @param stands whether the subscription still is what the request was for: live, not merged, not added again since
 *   (its row names the deletion: deletion.store.ts).
 */
export function stepFor({ status, stands }: { status: DeletionStatus; stands: boolean }): Step {
  if (status !== 'PENDING') return 'leave';
  return stands ? { status: 'SUCCESS' } : overtaken;
}

/** With so many attempts that failed for a passing reason a deletion ends in FAILURE. */
export const maxAttempts = 5;

/**
 * What a failed attempt means for its record. While Postgres is away it waits; after a passing fault it is tried again,
 * until that was the {@link maxAttempts}th; a lasting fault ends it.
 *
 * @param attempts how many attempts have failed for a passing reason, this one included.
 */
export function stepAfterFault(kind: FaultKind, attempts: number, cause: string): Step {
  if (kind === 'away') return 'leave';
  return kind === 'passing' && attempts < maxAttempts ? 'leave' : { status: 'FAILURE', cause };
}
