import { Failure } from '#contracts';

/**
 * Repeats a write while it fails as `unavailable`, as clients do. Concurrent writes of an account
 * are queued, and on a busy machine the last ones can exceed their deadline.
 */
export async function retryUnavailable<Result>(write: () => Promise<Result>): Promise<Result> {
  for (;;)
    try {
      return await write();
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== 'unavailable') throw error;
    }
}
