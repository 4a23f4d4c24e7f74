export { AppProcess, type App } from './app-process.js';
export { AppStack, SharedStack, type StackOptions } from './app-stack.js';
export { Device, type DeviceAnswer } from './device.js';
export { Fixture, type FixtureDatabase, type ServedApp } from './fixture.js';
export { eventually } from './eventually.js';
export { freshUser } from './fresh-user.js';
export { contentOf } from './json-content.js';
export {
  isRunning,
  LaunchedSystem,
  processesWith,
  repository,
  shareFetchedPrograms,
  type LaunchOptions,
} from './launched-system.js';
export { callProgram, startProgram, type ProgramOutcome } from './program-run.js';
export { readmeCalls, withoutStamps, type ReadmeCall } from './readme-calls.js';
export { migrate, type RoleUrls } from './migrated-database.js';
export { TcpProxy } from './tcp-proxy.js';
export { createDatabase, type TestDatabase } from './test-database.js';
export { startPostgresServer, startRedisServer, TestServer } from './test-server.js';
export { TokenIssuer } from './token-issuer.js';
