import type { DeletionStatus } from '#contracts';
import type { FaultKind } from '#database';

/** Final state of a deletion. The cause of a FAILURE is for operators; clients do not see it. */
export type DeletionOutcome =
  | { readonly status: 'SUCCESS'; readonly cause?: undefined }
  | { readonly status: 'FAILURE'; readonly cause: string };

/**
 * The next step of a worker for a deletion record: `leave` it unchanged, run the cascade (SUCCESS),
 * or end it in FAILURE.
 */
export type DeletionStep = 'leave' | DeletionOutcome;

/** Outcome of a deletion whose subscription was changed again after the request. */
export const overtakenOutcome: DeletionOutcome = {
  status: 'FAILURE',
  cause: 'the subscription was added again, merged or deleted since the request',
};

/** Outcome of a DELETE whose timestamp is earlier than that of the current `is_subscribed`. */
export const supersededOutcome: DeletionOutcome = {
  status: 'FAILURE',
  cause: 'the listener subscribed or unsubscribed later than the timestamp of the request',
};

/**
 * Returns what the worker does with a locked record: leave it unchanged, delete the subscription
 * and record SUCCESS, or record FAILURE. SUCCESS and FAILURE are final
 * (docs/reference/subscriptions.md, "Deletion"); privileges and functions of the database also
 * enforce this.
 *
 * @param isCurrent true if the row of the subscription still has the id of the deletion. The
 *   subscription is then live, and was not merged or added again since the request.
 */
export function stepFor({
  status,
  isCurrent,
}: {
  status: DeletionStatus;
  isCurrent: boolean;
}): DeletionStep {
  if (status !== 'PENDING') return 'leave';
  return isCurrent ? { status: 'SUCCESS' } : overtakenOutcome;
}

/** Number of attempts with transient faults after which a deletion ends in FAILURE. */
export const maxAttempts = 5;

/**
 * Returns the step after a failed attempt. An unavailable Postgres and the first transient faults
 * leave the record unchanged. A permanent fault and the {@link maxAttempts}th transient fault end
 * the record in FAILURE.
 *
 * @param attempts number of attempts with transient faults, including this one.
 */
export function stepAfterFault(kind: FaultKind, attempts: number, cause: string): DeletionStep {
  if (kind === 'unavailable') return 'leave';
  return kind === 'transient' && attempts < maxAttempts ? 'leave' : { status: 'FAILURE', cause };
}
