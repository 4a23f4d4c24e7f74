export { eventually } from './eventually.js';
export { freshUser } from './fresh.user.js';
export { isRunning, LaunchedSystem, processesWith, repository, type LaunchOptions } from './launched.system.js';
export type { RoleUrls } from './migrated.database.js';
export { baseUrl, tokenFor } from './stack.js';
export { createDatabase, type TestDatabase } from './test.database.js';
export { startPostgresServer, startRedisServer, TestServer } from './test.server.js';
