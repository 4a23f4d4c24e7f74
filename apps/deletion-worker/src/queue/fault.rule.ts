/**
 * Kinds of faults of a cascade:
 * - `away`: Postgres can't be reached, or is not migrated yet. It does not count as an attempt.
 * - `passing`: the same transaction may succeed later.
 * - `lasting`: the same transaction will never succeed.
 */
export type FaultKind = 'away' | 'passing' | 'lasting';

/**
 * SQLSTATEs: 08 connection, 25006 a standby that takes no writes, 28 login refused, 3D no such database, 57P shutdown
 * and the like, 53300 too many connections; 42P01, 42703, 42883, 3F000 and 42501 a table, column, function, schema or
 * right that does not exist yet while a release rolls out. Then codes of Node: sockets that were lost, host names that
 * don't resolve, TLS. None of them says anything about the deletion.
 */
const away =
  /^(08|25006|28|3D|57P|53300|42P01|42703|42883|3F000|42501)|^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EHOST|ENET|EAI_AGAIN)|^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/;
/** SQLSTATEs: 40 serialization failure and deadlock, 53 resources, 55P03 no lock in time, 57014 cancelled, 58 disk. */
const passing = /^(40|53|55P03|57014|58)/;

type Cause = { code?: unknown; cause?: unknown } | undefined;

/** Classifies an error by its code or a cause's. `unavailable` without one is `away`: Postgres was never reached. */
export function faultKind(error: unknown): FaultKind {
  let unavailable = false;
  for (let cause = error as Cause; cause; cause = cause.cause as Cause) {
    const code = String(cause.code ?? '');
    if (away.test(code)) return 'away';
    if (passing.test(code)) return 'passing';
    unavailable ||= code === 'unavailable';
  }
  return unavailable ? 'away' : 'lasting';
}
