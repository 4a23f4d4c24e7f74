/**
 * Kinds of faults of a statement or transaction:
 * - `away`: Postgres is unreachable, read-only, or not migrated yet, regardless of the statement.
 * - `passing`: transient; a retry can succeed.
 * - `lasting`: permanent; the statement or the code is wrong.
 */
export type FaultKind = 'away' | 'passing' | 'lasting';

/**
 * SQLSTATEs: 08 connection, 25006 read-only standby, 28 login refused, 3D no such database, 57P
 * shutdown and similar, 53300 too many connections. 42P01, 42703, 42883, 3F000 and 42501: a table,
 * column, function, schema or right that does not exist yet during a rollout. Then codes of Node:
 * lost sockets, unresolved host names, TLS.
 */
const away =
  /^(08|25006|28|3D|57P|53300|42P01|42703|42883|3F000|42501)|^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EHOST|ENET|EAI_AGAIN)|^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/;

/** Messages of the driver, which have no code, for a lost or unavailable connection. */
const connectionGone =
  /^(Connection terminated|Client (was closed|has encountered a connection error)|Query read timeout|timeout (exceeded|expired))/;

/**
 * SQLSTATEs: 26000 a statement that is not prepared, as the one that prepared it on the same
 * connection was cancelled; 40 serialization failure and deadlock, 53 resources, 55P03 no lock in
 * time, 57014 cancelled, 58 disk.
 */
const passing = /^(26000|40|53|55P03|57014|58)/;

type Cause = { code?: unknown; message?: unknown; cause?: unknown } | undefined;

/** SQLSTATE of a statement for a refused user, who is disabled or erased. */
export const refusedUser = 'PS401';

/**
 * Returns the kind of an error, from the error or one of its causes. `unavailable` without such a
 * cause is `away`: Postgres was never reached.
 */
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

/** Returns the message of the deepest cause, or its code if the message is empty. */
export function rootCauseOf(error: unknown): string {
  let deepest = error as Error & { code?: string };
  while (deepest.cause instanceof Error) deepest = deepest.cause;
  return String((deepest.message || deepest.code) ?? deepest);
}
