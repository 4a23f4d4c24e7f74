import { runService } from '#transport/service';
import { Queue } from 'bullmq';
import { DeletionModule } from './deletion.module.js';
import { deletionWorkerConfig } from './deletion-worker.config.js';
import { queueBoard } from './queue/queue-board.js';

await runService(
  'deletion-worker',
  'deletion',
  deletionWorkerConfig,
  (config, log) => DeletionModule.forRoot(config, log),
  (app, config) => queueBoard(app.get(Queue), config),
);
