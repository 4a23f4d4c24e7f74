import { createLog, loadConfig, type ProgramIo } from '#runtime';
import { migrate } from './migrate.js';
import { migrateConfig } from './migrate.config.js';

/** Runs the migrations. @returns the exit code. @throws ConfigurationError */
export async function runMigrate({ env }: ProgramIo): Promise<number> {
  const config = loadConfig(migrateConfig, env);
  const log = createLog('migrate', config.LOG_LEVEL);
  try {
    await migrate(config, log);
    log.info('migrations done');
    return 0;
  } catch (error) {
    log.fatal({ err: error }, 'migrations failed');
    return 1;
  }
}
