import { runService } from '#runtime/service';
import { DeletionModule } from './deletion.module.js';
import { deletionWorkerConfig } from './deletion-worker.config.js';

await runService('deletion-worker', 'deletion', deletionWorkerConfig, (config, log) =>
  DeletionModule.with(config, log),
);
