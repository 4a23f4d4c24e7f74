export { call, type CallOptions } from './client/call.js';
export {
  StreamClient,
  type ClientCounters,
  type RequestOptions,
  type StreamClientOptions,
} from './client/stream.client.js';
export { CallContext } from './server/call.context.js';
export { Handle } from './server/handle.decorator.js';
export type { ReplicaCounters, ReplicaTimings } from './server/replica.options.js';
export { redisStreams, StreamServer, type StreamServerOptions } from './server/stream.server.js';
export type { LinkEvents, LinkStatus } from './wire/redis.link.js';
