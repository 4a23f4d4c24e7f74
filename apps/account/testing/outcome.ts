import { Failure } from '#contracts';
import { Refusal } from '../src/people/refusal.js';

/** The code of the refusal or failure that a call ends with; `none` where it succeeds. */
export async function outcomeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return 'none';
  } catch (error) {
    return error instanceof Refusal || error instanceof Failure ? error.code : String(error);
  }
}
