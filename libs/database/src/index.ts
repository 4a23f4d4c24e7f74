export { createDataSource, type DatabaseOptions } from './data-source.js';
export { beginWrite, Database, storeAnswer, type Transaction, type Write } from './database.js';
export { databaseConfig } from './database.config.js';
export { groups, ensureGroups, ensureLogin } from './roles.js';
export { type Session } from './session.js';
export { timeLimit } from './turns.js';
export { type Bound, statement, type Statement } from './statement.js';
export { type Listing, listing, listPage, readClock } from './listing.js';
