export * from './config.js';
export * from './log.js';
export * from './run-app.js';
