export * from './config.js';
export * from './log.js';
export * from './metrics.js';
export * from './ops.server.js';
export * from './redis.connection.js';
export * from './redis.warnings.js';
export * from './run-app.js';
export * from './tracing.js';
