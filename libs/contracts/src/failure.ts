import { z } from 'zod';

/** Everything that can go wrong with a call, closed. The gateway maps each to HTTP in one table. */
export const failureCodes = [
  'invalid',
  'unauthorized',
  'not_found',
  'gone',
  'conflict',
  'unavailable',
  'internal',
] as const;
export type FailureCode = (typeof failureCodes)[number];

/** A failure as it travels. */
export const failureSchema = z.object({
  code: z.enum(failureCodes),
  /** For `conflict` only: the call that used this request id first, and its answer. */
  first: z.object({ pattern: z.string(), answer: z.unknown() }).optional(),
});
export type FailureData = z.output<typeof failureSchema>;

/** A failure a caller is told about. Whatever else is thrown is a fault of ours: logged where it happens, `internal` outside. */
export class Failure extends Error {
  constructor(
    readonly code: FailureCode,
    readonly first?: FailureData['first'],
    options?: ErrorOptions,
  ) {
    super(code, options);
    this.name = 'Failure';
  }
}
