export { dropBody, parsingSlot, readJson, sentBatch, tooLarge, waitToParse, xmlTypes } from './bodies.js';
export { createHttpAdapter, type HttpOptions, largestCompressed } from './http.adapter.js';
export { httpConfig, type HttpConfig, rateLimit, type RateLimit } from './http.config.js';
export {
  type BegunApp,
  type HttpApp,
  patience,
  type Patience,
  serveApps,
  serveHttp,
  type ServeOptions,
} from './serve.http.js';
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
export { appNames, type AppName, appOfPath, appPaths } from './app.paths.js';
export { type Connections, openConnections } from './connections.js';
export { authenticationFailureMetrics, rateLimitMetrics, watchHeldBytes } from './http.metrics.js';
export { linkBase } from './link.base.js';
export { RateLimits } from './rate.limits.js';
export { RouteTable } from './route.table.js';
export { RequestEnd } from './request.end.js';
export { type CallLimits, type LimitedCall, UserLimiter, waitingPerUser } from './user.limiter.js';
