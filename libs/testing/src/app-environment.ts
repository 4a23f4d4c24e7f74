import type { App } from './app-process.js';
import type { RoleUrls } from './migrated-database.js';
import { TokenIssuer } from './token-issuer.js';

/** Servers and keys that the apps of a stack share. */
export interface StackServers {
  readonly urls: RoleUrls;
  readonly redisUrl: string;
  readonly queueRedisUrl: string;
  /** Folder with the token signing keys. */
  readonly keys: string;
  /** File with the public keys by which the gateway verifies tokens. */
  readonly keySetFile: string;
}

/** Returns the environment variables that connect an app to these servers. */
export function appEnvironment(app: App, servers: StackServers): Record<string, string> {
  const { urls, redisUrl, queueRedisUrl, keys, keySetFile } = servers;
  const redisVariables = { REDIS_URL: redisUrl };
  switch (app) {
    case 'gateway':
      return {
        ...redisVariables,
        PORT: '0',
        AUTH_ISSUER: TokenIssuer.issuer,
        AUTH_OWN_ISSUER: TokenIssuer.issuer,
        AUTH_AUDIENCE: TokenIssuer.audience,
        AUTH_JWKS_FILE: keySetFile,
        CURSOR_KEY: 'a-key-of-tests-that-is-long-enough',
      };
    case 'subscription':
    case 'episode':
    case 'feed':
      return { ...redisVariables, DATABASE_URL: urls[app] };
    case 'deletion-worker':
      return { ...redisVariables, DATABASE_URL: urls.deletion, QUEUE_REDIS_URL: queueRedisUrl };
    case 'gpodder':
      return { ...redisVariables, PORT: '0', SESSION_KEY: 'a-key-of-tests-that-is-long-enough' };
    case 'account':
      return {
        ...redisVariables,
        DATABASE_URL: urls.account,
        PORT: '0',
        PUBLIC_URL: 'http://127.0.0.1:3002',
        SECRETS_KEY: 'a-secret-of-tests-that-is-long-enough',
        KEYS_DIRECTORY: keys,
      };
  }
}
