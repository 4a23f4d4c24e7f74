export { AppPasswords, type AppPasswordBounds, type Credential } from './app.passwords.js';
export { xmlTypes } from './bodies.js';
export { createEdge, type EdgeOptions, largestCompressed, patience, type Patience } from './create.edge.js';
export { edgeConfig, type EdgeConfig, rateLimit, type RateLimit } from './edge.config.js';
export { type EdgeParts, serveEdge } from './edge.parts.js';
export {
  answerFor,
  beginError,
  type ErrorAnswer,
  errorBody,
  type FailureAnswers,
  httpAnswers,
  send,
} from './errors.js';
export { type Hold, HeldBytes } from './held.bytes.js';
export { dropBody, parsingSlot, readJson, tooLarge, waitToParse } from './json.body.js';
export { linkBase } from './link.base.js';
export { listen } from './listen.js';
export { networkOf, RateLimited, RateLimits } from './rate.limits.js';
export { RequestEnd } from './request.end.js';
export { type CallLimits, type LimitedCall, UserLimiter, waitingPerUser } from './user.limiter.js';
