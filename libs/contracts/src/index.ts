export * from './deletion.contracts.js';
export * from './episode.contracts.js';
export * from './failure.js';
export * from './list.schemas.js';
export * from './rpc.js';
export * from './subscription.contracts.js';
export * from './values.js';
