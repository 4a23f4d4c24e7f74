import { Failure } from '#contracts';

/**
 * Runs a write again for as long as it is refused for time alone, as its callers do: many of one account that come at the same
 * time are made one after another, which takes longer on a busy machine than one of them may wait.
 */
export async function patiently<Result>(write: () => Promise<Result>): Promise<Result> {
  for (;;)
    try {
      return await write();
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== 'unavailable') throw error;
    }
}
