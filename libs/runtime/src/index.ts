export * from './config.js';
export * from './log.js';
export * from './redis.connection.js';
export * from './run-app.js';
