export { freePort } from './free.port.js';
export type { EmbeddedServer, ServerOptions } from './embedded.server.js';
export { removePostgres, startPostgres, type PostgresOptions } from './postgres.server.js';
export { commandLine } from './running.process.js';
export { removeRedis, startRedis, type RedisOptions } from './redis.server.js';
export { secretFile, writePrivateFile } from './secret.file.js';
export { StartError } from './start.error.js';
export { type KnownKey, TokenIssuer, type TokenTerms } from './token.issuer.js';
