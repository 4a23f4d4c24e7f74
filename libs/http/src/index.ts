export { dropBody, parseJson, sentBatch, waitToParse, xmlTypes } from './bodies.js';
export {
  createHttpAdapter,
  type HttpOptions,
  maxCompressedBytes,
  type NodeHandler,
} from './http-adapter.js';
export { callConfig, httpConfig, type HttpConfig, type RateLimit } from './http.config.js';
export {
  type RunningApp,
  type HttpApp,
  defaultTimeouts,
  type HttpTimeouts,
  serveApps,
  serveHttp,
  type ServeOptions,
} from './serve-http.js';
export {
  toErrorAnswer,
  AuthenticationFailure,
  setErrorHeaders,
  type ErrorAnswer,
  errorBody,
  type ErrorFormat,
  type FailureAnswers,
  FailureFilter,
  httpAnswers,
  send,
  TooLarge,
} from './errors.js';
export { appNames, type AppName, appOfPath, appPaths } from './app-paths.js';
export { type Connections, openConnections } from './connections.js';
export { rateLimitMetrics } from './http.metrics.js';
export { linkBase } from './link-base.js';
export { RateLimits } from './rate-limits.js';
export { RequestEnd } from './request-hooks.js';
export { type ServiceCallOptions, Services } from './services.js';
export { type HoldBytes, type CallPool, UserLimiter } from './user-limiter.js';
