import { z } from 'zod';

/** Codes of the failures of a call. HTTP apps map them to statuses (http/errors.ts). */
export const failureCodes = [
  'invalid',
  'unauthorized',
  'not_found',
  'gone',
  'unavailable',
  'internal',
] as const;
export type FailureCode = (typeof failureCodes)[number];

/** Schema of a failure in a reply. */
export const failureSchema = z.object({ code: z.enum(failureCodes) });
export type FailureData = z.output<typeof failureSchema>;

/** An error whose code a service sends to its caller. Any other error is sent as `internal`. */
export class Failure extends Error {
  constructor(
    readonly code: FailureCode,
    options?: ErrorOptions,
  ) {
    super(code, options);
    this.name = 'Failure';
  }
}

/** Creates the failure `unavailable`. @param reason text for the log. */
export function unavailable(reason: string, cause?: unknown): Failure {
  return new Failure('unavailable', { cause: new Error(reason, { cause }) });
}
