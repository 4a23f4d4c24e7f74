import { Failure } from '#contracts';
import { Refusal } from '../src/people/refusal.js';

/** Returns the code of the refusal or failure of a call; `none` if it succeeds. */
export async function outcomeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return 'none';
  } catch (error) {
    return error instanceof Refusal || error instanceof Failure ? error.code : String(error);
  }
}
