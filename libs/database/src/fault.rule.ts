/**
 * Kinds of faults of a statement or transaction:
 * - `away`: Postgres can't be reached, takes no writes, or is not migrated yet. Says nothing about what was asked.
 * - `passing`: the same may succeed later.
 * - `lasting`: it never will, as the fault is in what was asked, or ours.
 */
export type FaultKind = 'away' | 'passing' | 'lasting';

/**
 * SQLSTATEs: 08 connection, 25006 a standby that takes no writes, 28 login refused, 3D no such database, 57P shutdown
 * and the like, 53300 too many connections; 42P01, 42703, 42883, 3F000 and 42501 a table, column, function, schema or
 * right that does not exist yet while a release rolls out. Then codes of Node: sockets that were lost, host names that
 * don't resolve, TLS.
 */
const away =
  /^(08|25006|28|3D|57P|53300|42P01|42703|42883|3F000|42501)|^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EHOST|ENET|EAI_AGAIN)|^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/;

/** Messages of the driver, which have no code, for a connection that is lost, silent or refused, or not to be had. */
const connectionGone =
  /^(Connection terminated|Client (was closed|has encountered a connection error)|Query read timeout|timeout (exceeded|expired))/;

/**
 * SQLSTATEs: 26000 a statement that is not prepared, because the one that prepared it on the same connection was
 * cancelled; 40 serialization failure and deadlock, 53 resources, 55P03 no lock in time, 57014 cancelled, 58 disk.
 */
const passing = /^(26000|40|53|55P03|57014|58)/;

type Cause = { code?: unknown; message?: unknown; cause?: unknown } | undefined;

/** The SQLSTATE of a statement for a user for whom nothing is done any more: one who is disabled, or erased. */
export const refusedUser = 'PS401';

/** Classifies an error by itself or a cause of it. `unavailable` without one is `away`: Postgres was never reached. */
export function faultKind(error: unknown): FaultKind {
  let unavailable = false;
  for (let cause = error as Cause; cause; cause = cause.cause as Cause) {
    const code = String(cause.code ?? '');
    if (away.test(code) || connectionGone.test(String(cause.message ?? ''))) return 'away';
    if (passing.test(code)) return 'passing';
    unavailable ||= code === 'unavailable';
  }
  return unavailable ? 'away' : 'lasting';
}

/** The message of the deepest cause; its code where that is empty, as for a host with several addresses. */
export function rootCauseOf(error: unknown): string {
  let deepest = error as Error & { code?: string };
  while (deepest.cause instanceof Error) deepest = deepest.cause;
  return String((deepest.message || deepest.code) ?? deepest);
}
