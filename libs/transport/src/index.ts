export { callUntilAvailable } from './client/call-until-available.js';
export {
  StreamClient,
  type ClientCounters,
  type StreamClientOptions,
} from './client/stream-client.js';
export { Handle } from './server/handle.decorator.js';
export type { ReplicaCounters } from './server/replica-options.js';
export { CallContext, StreamServer, type StreamServerOptions } from './server/stream-server.js';
export { watchClient } from './transport.metrics.js';
export { hasUnfinishedRequests } from './unfinished-requests.js';
export { traceCalls } from './transport-tracing.js';
