/** Internals of the transport for tests of the whole product. */
export { defaultTimings } from '../src/server/replica-options.js';
export { requestRetentionMs, serviceKeys } from '../src/wire/format.js';
