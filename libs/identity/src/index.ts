export * from './app-password.js';
export {
  AppPasswordVerifier,
  type AppPasswordBounds,
  type VerifiedCredential,
} from './app-password-verifier.js';
export { CredentialCache } from './credential-cache.js';
export { LookupLimit } from './lookup-limit.js';
export { RateCounter, RateLimited } from './rate-counter.js';
export * from './named-users.js';
export * from './network.js';
export * from './revocations.js';
export * from './user-id.js';
