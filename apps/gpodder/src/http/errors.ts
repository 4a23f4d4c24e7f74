import {
  toErrorAnswer,
  type ErrorAnswer,
  type ErrorFormat,
  type FailureAnswers,
  httpAnswers,
  send,
} from '#http';
import type { GpodderConfig } from '../gpodder.config.js';

/** Status and message for each failure code. Clients read only the status. */
export const failureAnswers: FailureAnswers = {
  invalid: { status: 400, message: 'Input could not be validated' },
  unauthorized: {
    status: 401,
    message: 'User not authorized',
    // Names only Basic, although Bearer also works, because clients use the first scheme.
    headers: { 'www-authenticate': 'Basic realm="Podcast Sync"' },
  },
  not_found: httpAnswers[404],
  gone: httpAnswers[404],
  unavailable: httpAnswers[503],
  internal: { status: 500, message: 'Internal error' },
};

/** Answer to a client without the permission that a route needs. */
export const forbidden: ErrorAnswer = { status: 403, message: 'Not allowed' };

/** An error for an HTTP answer that has no failure code, such as 403. */
export class RejectionError extends Error {
  constructor(readonly answer: ErrorAnswer) {
    super(answer.message);
    this.name = 'RejectionError';
  }
}

/** Returns the functions that turn errors into the error answers of the gpodder API. */
export function errorFormat({ SITE_URL }: Pick<GpodderConfig, 'SITE_URL'>): ErrorFormat {
  return {
    answerTo: (error, _request, log) =>
      error instanceof RejectionError ? error.answer : toErrorAnswer(error, log, failureAnswers),
    // Sends no session cookie to a client without a valid credential.
    send: (reply, answer) =>
      send(answer.status === 401 ? reply.removeHeader('set-cookie') : reply, answer, SITE_URL),
    wrongMethod: { status: 405, message: 'Method not allowed' },
    badPath: httpAnswers[404],
  };
}
