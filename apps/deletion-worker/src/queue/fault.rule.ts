/**
 * What a fault of a cascade means for its record: `away`, Postgres or its schema is not there, which is no attempt; `passing`,
 * the same transaction may succeed later; `lasting`, it never will.
 */
export type FaultKind = 'away' | 'passing' | 'lasting';

/**
 * SQLSTATE classes: 08 connection, 25006 a standby that takes no writes, 28 refused to log in, 3D no such database, 57P
 * shutdown and the like, 53300 too many connections; 42P01, 42703, 42883, 3F000 and 42501 a table, column, function,
 * schema or right that is not there yet, while a release rolls out; then lost sockets, names that don't resolve, and
 * TLS. None of them says anything about the deletion.
 */
const away =
  /^(08|25006|28|3D|57P|53300|42P01|42703|42883|3F000|42501)|^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EHOST|ENET|EAI_AGAIN)|^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/;
/** 40 serialization failure and deadlock, 53 resources, 55P03 no lock in time, 57014 cancelled by a timeout, 58 input and output. */
const passing = /^(40|53|55P03|57014|58)/;

/** Classifies an error by its code or that of its causes. A call that never reached Postgres has none and is `away`. */
export function faultKind(error: unknown): FaultKind {
  let unavailable = false;
  for (
    let cause = error as { code?: unknown; cause?: unknown } | undefined;
    cause;
    cause = cause.cause as typeof cause
  ) {
    const code = String(cause.code ?? '');
    if (away.test(code)) return 'away';
    if (passing.test(code)) return 'passing';
    unavailable ||= code === 'unavailable';
  }
  return unavailable ? 'away' : 'lasting';
}
