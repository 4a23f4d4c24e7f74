import {
  answerFor,
  type ErrorAnswer,
  type ErrorFormat,
  type FailureAnswers,
  httpAnswers,
  send,
} from '#http';
import type { GpodderConfig } from '../gpodder.config.js';

/** Status and message of every Failure. Clients read only the status. */
export const failureAnswers: FailureAnswers = {
  invalid: { status: 400, message: 'Input could not be validated' },
  unauthorized: {
    status: 401,
    message: 'User not authorized',
    // Offers Basic only, because clients use the first scheme that they support.
    headers: { 'www-authenticate': 'Basic realm="Podcast Sync"' },
  },
  not_found: httpAnswers[404],
  gone: httpAnswers[404],
  unavailable: httpAnswers[503],
  internal: { status: 500, message: 'Internal error' },
};

/** Answer to a request without the necessary permission. */
export const forbidden: ErrorAnswer = { status: 403, message: 'Not allowed' };

/** An error with an HTTP answer for which no failure code exists, such as 403. */
export class RefusalError extends Error {
  constructor(readonly answer: ErrorAnswer) {
    super(answer.message);
    this.name = 'RefusalError';
  }
}

/** Returns the format of the app's error answers. */
export function errorFormat({ SITE_URL }: Pick<GpodderConfig, 'SITE_URL'>): ErrorFormat {
  return {
    answerTo: (error, _request, log) =>
      error instanceof RefusalError ? error.answer : answerFor(error, log, failureAnswers),
    // A client without a valid credential gets no session cookie.
    send: (reply, answer) =>
      send(answer.status === 401 ? reply.removeHeader('set-cookie') : reply, answer, SITE_URL),
    wrongMethod: { status: 405, message: 'Method not allowed' },
    badPath: httpAnswers[404],
  };
}
