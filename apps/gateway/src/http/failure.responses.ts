import type { FailureCode } from '#contracts';

/** An error answer: exactly this body, and headers that help (docs/interface.md, "Errors"). */
export interface ErrorAnswer {
  status: number;
  message: string;
  headers?: Readonly<Record<string, string>>;
}

/** Every failure of a call as HTTP: the one table. */
export const failureAnswers: Readonly<Record<FailureCode, ErrorAnswer>> = {
  invalid: { status: 405, message: 'Input could not be validated' },
  unauthorized: { status: 401, message: 'User not authorized', headers: { 'www-authenticate': 'Bearer' } },
  not_found: { status: 404, message: 'Resource not found' },
  gone: { status: 410, message: 'Subscription has been deleted' },
  // The first answer is repeated instead (write.answers.ts); where it can't be, the server is at fault.
  conflict: { status: 500, message: 'Internal error' },
  unavailable: { status: 503, message: 'Service unavailable' },
  internal: { status: 500, message: 'Internal error' },
};

/** Faults of HTTP itself that the interface does not name, by their status. */
export const httpAnswers: Readonly<Record<number, ErrorAnswer>> = {
  400: { status: 400, message: 'Bad request' },
  404: failureAnswers.not_found,
  408: { status: 408, message: 'Request timed out' },
  413: { status: 413, message: 'Request is too large' },
  414: { status: 414, message: 'Request header is too large' },
  429: { status: 429, message: 'Too many requests' },
  431: { status: 431, message: 'Request header is too large' },
  503: failureAnswers.unavailable,
};

/** The body of an error answer; `code` is a string. */
export function errorBody({ status, message }: ErrorAnswer): { code: string; message: string } {
  return { code: String(status), message };
}
