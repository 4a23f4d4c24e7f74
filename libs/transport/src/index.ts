export { call, type CallOptions } from './call.js';
export { CallContext } from './call.context.js';
export { warnOfEviction } from './redis.warnings.js';
export { Handle } from './handle.decorator.js';
export type { LinkEvents, LinkStatus } from './redis.link.js';
export type { ReplicaCounters, ReplicaTimings } from './replica.options.js';
export { isRefusal } from './refusal.js';
export { StreamClient, type ClientCounters, type RequestOptions, type StreamClientOptions } from './stream.client.js';
export { redisStreams, StreamServer, type StreamServerOptions } from './stream.server.js';
