import { type DynamicModule, Module } from '@nestjs/common';
import { ActionService } from './action.service.js';
import { type EpisodeQuotas, QUOTAS } from './episode.config.js';
import { EpisodeController } from './episode.controller.js';
import { EpisodeService } from './episode.service.js';

/** Episodes and their states. */
@Module({})
export class EpisodeModule {
  static forRoot(quotas: EpisodeQuotas): DynamicModule {
    return {
      module: EpisodeModule,
      controllers: [EpisodeController],
      providers: [EpisodeService, ActionService, { provide: QUOTAS, useValue: quotas }],
    };
  }
}
