export * from './clock-notifier.js';
export * from './clock-subscriptions.js';
export * from './redis-connection.js';
export * from './redis-warnings.js';
