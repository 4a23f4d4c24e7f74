export { fetchDebianProgram, type Program } from './debian-program.js';
export { freePort, startOnFreePort } from './free-port.js';
export { type EmbeddedServer, type ServerOptions, StartError } from './embedded-server.js';
export { removePostgres, startPostgres } from './postgres-server.js';
export { findOrFetchRedis } from './redis-binary.js';
export { KeyFiles, type KeySetEntry } from './key-files.js';
export { commandLine } from './running-process.js';
export { removeRedis, startRedis, type RedisOptions } from './redis-server.js';
export { readOrCreateSecret, writePrivateFile } from './secret-file.js';
