import { Failure } from '#contracts';

/**
 * Kinds of faults of a statement or transaction:
 * - `unavailable`: Postgres is unreachable, read-only, or not migrated yet.
 * - `transient`: a retry can succeed.
 * - `permanent`: the statement or the code is wrong.
 */
export type FaultKind = 'unavailable' | 'transient' | 'permanent';

/**
 * Codes of an unavailable Postgres. SQLSTATEs: 08 connection, 25006 read-only, 28 login, 3D no
 * database, 57P shutdown, 53300 too many connections. Also 42P01, 42703, 42883, 3F000, 42501:
 * during a rollout, a table, column, function, schema or privilege can be missing. The other codes
 * are of Node: sockets, host names, TLS.
 */
const unavailableCodes =
  /^(08|25006|28|3D|57P|53300|42P01|42703|42883|3F000|42501)|^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EHOST|ENET|EAI_AGAIN)|^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/;

/** Messages of driver errors without a code: the connection was lost or could not be opened. */
const connectionLostMessage = new RegExp(
  `^(${[
    'Connection terminated',
    'Client was closed',
    'Client has encountered a connection error',
    'Query read timeout',
    'timeout exceeded',
    'timeout expired',
  ].join('|')})`,
);

/**
 * SQLSTATEs of transient faults: 26000 no such prepared statement, because its preparation was
 * cancelled; 40 serialization failure or deadlock, 53 resources, 55P03 lock timeout, 57014
 * cancelled, 58 disk.
 */
const transientCodes = /^(26000|40|53|55P03|57014|58)/;

/**
 * Fault kinds of errors with SQLSTATE XX000, by message. Citus sends the second message while it
 * moves a shard.
 */
const internalFaults: readonly [message: RegExp, kind: FaultKind][] = [
  [/^postmaster was shut down/, 'unavailable'],
  [/^cannot execute a distributed query from a query on a shard/, 'transient'],
];

type ErrorCause = { code?: unknown; message?: unknown; cause?: unknown } | undefined;

/** SQLSTATE of a write for a user who is disabled, being erased, or erased. */
export const refusedUser = 'PS401';

/**
 * Returns the kind of fault of an error, by the first known code or message among the error and its
 * causes. Without one, the fault is `unavailable` if the error or a cause is a `Failure`
 * `unavailable`, else `permanent`.
 */
export function faultKind(error: unknown): FaultKind {
  let isUnavailable = false;
  for (let cause = error as ErrorCause; cause; cause = cause.cause as ErrorCause) {
    const code = String(cause.code ?? '');
    const message = String(cause.message ?? '');
    if (unavailableCodes.test(code) || connectionLostMessage.test(message)) return 'unavailable';
    if (transientCodes.test(code)) return 'transient';
    const internalFault =
      code === 'XX000' && internalFaults.find(([pattern]) => pattern.test(message));
    if (internalFault) return internalFault[1];
    isUnavailable ||= code === 'unavailable';
  }
  return isUnavailable ? 'unavailable' : 'permanent';
}

/**
 * Returns the value of the log field `outage` for an error of `Database`: `Postgres` if the error
 * shows that Postgres is unavailable, else undefined.
 */
export function postgresOutage(error: unknown): 'Postgres' | undefined {
  return error instanceof Failure && faultKind(error) === 'unavailable' ? 'Postgres' : undefined;
}

/** Returns the message of the deepest cause, or its code if the message is empty. */
export function rootCauseOf(error: unknown): string {
  let deepest = error as Error & { code?: string };
  while (deepest.cause instanceof Error) deepest = deepest.cause;
  return String((deepest.message || deepest.code) ?? deepest);
}
