import { type Availability, faultKind } from '#database';
import { errors } from 'oidc-provider';

/** Creates the OAuth error `temporarily_unavailable` with status 503. */
function unavailable(description: string): Error {
  const error = new errors.TemporarilyUnavailable(description);
  return Object.assign(error, { status: 503, statusCode: 503 });
}

/** Runs statements. @throws {@link unavailable} if Postgres is unavailable or overloaded. */
export async function whileAvailable<Result>(
  availability: Availability,
  run: () => Promise<Result>,
): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    const kind = faultKind(error);
    if (kind === 'permanent') throw error;
    if (kind === 'unavailable') availability.suspect();
    throw Object.assign(unavailable('the database is away'), { cause: error });
  }
}
