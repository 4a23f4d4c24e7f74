import { runOnce } from '#runtime';
import { migrateConfig } from './migrate.config.js';
import { migrate } from './migrate.js';

await runOnce('migrate', migrateConfig, migrate);
