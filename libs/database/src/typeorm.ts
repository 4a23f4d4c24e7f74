export { createDataSource } from './data-source.js';
export * from './entities/index.js';
export { applyMigrations, drift } from './schema.js';
