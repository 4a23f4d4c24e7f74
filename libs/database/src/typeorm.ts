export { createDataSource } from './data-source.js';
export * from './entities/index.js';
export { applyMigrations, findSchemaDrift } from './schema.js';
