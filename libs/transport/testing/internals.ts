/** What tests of the whole product look at of the transport, and programs do not. */
export { defaultTimings } from '../src/server/replica.options.js';
export { serviceKeys } from '../src/wire/format.js';
