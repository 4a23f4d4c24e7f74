import { type Availability, faultKind } from '#database';
import { errors } from 'oidc-provider';

/**
 * Runs SQL statements of the issuer, and converts outages of Postgres to OAuth errors.
 *
 * @throws TemporarilyUnavailable (status 503) if Postgres is unavailable or overloaded.
 */
export async function withOutageErrors<Result>(
  availability: Availability,
  run: () => Promise<Result>,
): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    const kind = faultKind(error);
    if (kind === 'permanent') throw error;
    if (kind === 'unavailable') availability.suspect();
    const outage = new errors.TemporarilyUnavailable('the database is unavailable');
    throw Object.assign(outage, { status: 503, statusCode: 503, cause: error });
  }
}
