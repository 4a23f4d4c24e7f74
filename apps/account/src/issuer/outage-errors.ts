import { type Availability, faultKind } from '#database';
import { errors } from 'oidc-provider';

/** Returns the OAuth error `temporarily_unavailable` with status 503. */
function createOutageError(description: string): Error {
  const error = new errors.TemporarilyUnavailable(description);
  return Object.assign(error, { status: 503, statusCode: 503 });
}

/**
 * Runs SQL statements of the issuer, and converts outages of Postgres to OAuth errors.
 *
 * @throws TemporarilyUnavailable if Postgres is unavailable or overloaded.
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
    throw Object.assign(createOutageError('the database is unavailable'), { cause: error });
  }
}
