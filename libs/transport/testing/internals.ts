/** Internals of the transport for tests of the whole product. */
export { defaultTimings } from '../src/server/replica-options.js';
export { serviceKeys } from '../src/wire/format.js';
