export * from './clock.hints.js';
export * from './clock.listener.js';
export * from './redis.connection.js';
export * from './redis.metrics.js';
export * from './redis.warnings.js';
