import type { DeletionStatus } from '#contracts';
import type { FaultKind } from '../queue/fault.rule.js';

/**
 * Which state may follow which: PENDING is the first, SUCCESS and FAILURE are final (docs/interface.md,
 * "Deletion"). Triggers of the table enforce the same.
 */
export const transitions = {
  PENDING: ['SUCCESS', 'FAILURE'],
  SUCCESS: [],
  FAILURE: [],
} as const satisfies Record<DeletionStatus, readonly DeletionStatus[]>;

/** How a deletion ends; a failure says why, to operators. */
export type Ending =
  { readonly status: 'SUCCESS'; readonly cause?: undefined } | { readonly status: 'FAILURE'; readonly cause: string };

/** What a worker does with a record: nothing, the cascade and then SUCCESS, or FAILURE. */
export type Step = 'leave' | Ending;

/** The states that a record may be in to become another: what the statement that ends one goes by. */
export function statesBefore(status: DeletionStatus): DeletionStatus[] {
  const states = Object.keys(transitions) as DeletionStatus[];
  return states.filter((state) => (transitions[state] as readonly DeletionStatus[]).includes(status));
}

/** Whether nothing follows a state. */
export function isFinal(status: DeletionStatus): boolean {
  return transitions[status].length === 0;
}

/** Why a deletion fails that a later write won against. */
export const overtaken: Ending = {
  status: 'FAILURE',
  cause: 'the subscription was added again, merged or deleted since the request',
};

/**
 * What a worker that holds a record's lock does.
 *
 * @param stands whether the subscription still is what the request was for.
 */
export function stepFor({ status, stands }: { status: DeletionStatus; stands: boolean }): Step {
  if (isFinal(status)) return 'leave';
  return stands ? { status: 'SUCCESS' } : overtaken;
}

/** Attempts that fail for a passing reason before a deletion ends in FAILURE. */
export const maxAttempts = 5;

/**
 * What a failed attempt means for its record: that Postgres is away is no attempt, a passing fault may come less than
 * {@link maxAttempts} times, a lasting one never heals.
 *
 * @param attempts how many have failed for a passing reason, this one included.
 */
export function stepAfterFault(kind: FaultKind, attempts: number, cause: string): Step {
  if (kind === 'away') return 'leave';
  return kind === 'passing' && attempts < maxAttempts ? 'leave' : { status: 'FAILURE', cause };
}
