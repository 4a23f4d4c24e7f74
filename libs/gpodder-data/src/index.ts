export { isUsable, parseAction, type SkipReason, type UsableAction } from './action.rules.js';
export { maxSeconds, oldestTime } from './action-values.js';
export { ActionWriter } from './action-writer.js';
export {
  AccountImport,
  type ProgressStore,
  importProgressSchema,
  type ImportProgress,
  noProgress,
} from './import/account-import.js';
export { AccountWriter } from './import/account-writer.js';
export { SkippedEntries } from './import/skipped-entries.js';
export { openSource, ServerError, sourceLimits } from './import/source-server.js';
export { repairEnclosureUrl, repairFeedUrl, type UrlUpdate, UrlUpdates } from './url-repair.js';
