export { type Availability } from './availability.js';
export {
  addEvent,
  advanceClock,
  beginWrite,
  Database,
  openDatabase,
  storeAnswer,
  type Transaction,
  type Write,
} from './database.js';
export { delegatedFunctions } from './distribution.js';
export { DatabaseModule } from './database.module.js';
export { areBeforeFirstRelease, laterMigrations } from './migrations/index.js';
export { nodesOf } from './cluster-nodes.js';
export { createPool, registerPoolMetrics } from './pool.js';
export {
  databaseConfig,
  databaseNodes,
  distribution,
  quotaVariable,
  subscriptionQuotas,
  syncIdQuota,
} from './database.config.js';
export {
  type FaultKind,
  faultKind,
  postgresOutage,
  refusedUser,
  rootCauseOf,
} from './fault-rule.js';
export { clockOfUser, unlessRefused } from './refused-users.js';
export { groups, ensureGroups, ensureLogin, skipGroupGrants } from './roles.js';
export { type ClockCallback, type PgTransaction } from './pg-transaction.js';
export { countdown, UserQueue } from './user-queue.js';
export { type Bound, isoTimeSql, statement, statements, type Statement } from './statement.js';
export { type Listing, listing, listPage, selectClock } from './listing.js';
export { RequestSweep, sweepRequests } from './request-sweep.js';
