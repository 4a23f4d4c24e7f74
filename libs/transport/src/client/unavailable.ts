import { Failure } from '#contracts';

/** The failure of a call that was not answered in time, with the reason for whoever debugs it. */
export function unavailable(reason: string, cause?: unknown): Failure {
  return new Failure('unavailable', undefined, { cause: new Error(reason, { cause }) });
}
