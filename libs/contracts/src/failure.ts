import { z } from 'zod';

/** Every way in which a call can fail. The gateway maps each to HTTP in one table (http/errors.ts). */
export const failureCodes = ['invalid', 'unauthorized', 'not_found', 'gone', 'unavailable', 'internal'] as const;
export type FailureCode = (typeof failureCodes)[number];

/** A failure as it travels. */
export const failureSchema = z.object({ code: z.enum(failureCodes) });
export type FailureData = z.output<typeof failureSchema>;

/** A failure that the caller sees. Anything else that is thrown is logged and `internal` to the caller. */
export class Failure extends Error {
  constructor(
    readonly code: FailureCode,
    options?: ErrorOptions,
  ) {
    super(code, options);
    this.name = 'Failure';
  }
}

/** The failure `unavailable`, with its reason for the log. */
export function unavailable(reason: string, cause?: unknown): Failure {
  return new Failure('unavailable', { cause: new Error(reason, { cause }) });
}
