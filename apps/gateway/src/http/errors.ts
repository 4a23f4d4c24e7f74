import { toErrorAnswer, type ErrorFormat, type FailureAnswers, httpAnswers, send } from '#http';
import type { GatewayConfig } from '../gateway.config.js';
import { challengeHeader } from './challenge.js';

/** Status and message for each failure code (docs/reference/interface.md, "Errors"). */
export const failureAnswers: FailureAnswers = {
  invalid: { status: 405, message: 'Input could not be validated' },
  unauthorized: { status: 401, message: 'User not authorized' },
  not_found: httpAnswers[404],
  gone: { status: 410, message: 'Subscription has been deleted' },
  unavailable: httpAnswers[503],
  internal: { status: 500, message: 'Internal error' },
};

/** Returns the functions that turn errors into the error answers of the interface. */
export function errorFormat(config: GatewayConfig): ErrorFormat {
  return {
    answerTo(error, request, log) {
      const answer = toErrorAnswer(error, log, failureAnswers);
      // Adds the header also to a 401 for a valid credential of a disabled or erased user.
      return answer.status === 401
        ? { ...answer, headers: challengeHeader(request, config, error) }
        : answer;
    },
    send: (reply, answer) => send(reply, answer, config.SITE_URL),
    wrongMethod: failureAnswers.invalid,
    badPath: failureAnswers.invalid,
  };
}
