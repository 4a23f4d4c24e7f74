export * from './app-password.js';
export { AppPasswords, type AppPasswordBounds, type Credential } from './app.passwords.js';
export * from './identity.metrics.js';
export * from './named.users.js';
export * from './network.js';
export * from './rate.limited.js';
export * from './revocations.js';
export * from './user-id.js';
