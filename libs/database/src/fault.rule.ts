/**
 * Kinds of faults of a statement or transaction:
 * - `unavailable`: Postgres is unreachable, read-only, or not migrated yet.
 * - `transient`: a retry can succeed.
 * - `permanent`: the statement or the code is wrong.
 */
export type FaultKind = 'unavailable' | 'transient' | 'permanent';

/**
 * SQLSTATEs: 08 connection, 25006 read-only, 28 login, 3D no database, 57P shutdown, 53300 too many
 * connections. During a rollout 42P01, 42703, 42883, 3F000, 42501: missing table, column, function,
 * schema or privilege. Then codes of Node: sockets, host names, TLS.
 */
const unavailableCodes =
  /^(08|25006|28|3D|57P|53300|42P01|42703|42883|3F000|42501)|^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EHOST|ENET|EAI_AGAIN)|^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/;

/** Messages of the driver, which have no code, for a lost or unavailable connection. */
const connectionGone = new RegExp(
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
 * SQLSTATEs: 26000 not prepared, as the preparing statement of the connection was cancelled; 40
 * serialization failure and deadlock, 53 resources, 55P03 lock, 57014 cancelled, 58 disk.
 */
const transientCodes = /^(26000|40|53|55P03|57014|58)/;

/** Errors that have only the SQLSTATE XX000: of Postgres, and of Citus while a shard moves. */
const internalFaults: readonly [message: RegExp, kind: FaultKind][] = [
  [/^postmaster was shut down/, 'unavailable'],
  [/^cannot execute a distributed query from a query on a shard/, 'transient'],
];

type Cause = { code?: unknown; message?: unknown; cause?: unknown } | undefined;

/** SQLSTATE of a statement for a refused user, who is disabled or erased. */
export const refusedUser = 'PS401';

/** Returns the kind of an error or of its causes. `unavailable` alone means `unavailable`. */
export function faultKind(error: unknown): FaultKind {
  let isUnavailable = false;
  for (let cause = error as Cause; cause; cause = cause.cause as Cause) {
    const code = String(cause.code ?? '');
    const message = String(cause.message ?? '');
    if (unavailableCodes.test(code) || connectionGone.test(message)) return 'unavailable';
    if (transientCodes.test(code)) return 'transient';
    const internal = code === 'XX000' && internalFaults.find(([text]) => text.test(message));
    if (internal) return internal[1];
    isUnavailable ||= code === 'unavailable';
  }
  return isUnavailable ? 'unavailable' : 'permanent';
}

/** Returns the message of the deepest cause, or its code if the message is empty. */
export function rootCauseOf(error: unknown): string {
  let deepest = error as Error & { code?: string };
  while (deepest.cause instanceof Error) deepest = deepest.cause;
  return String((deepest.message || deepest.code) ?? deepest);
}
