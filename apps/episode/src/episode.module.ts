import { type DynamicModule, Module } from '@nestjs/common';
import { ActionService } from './action.service.js';
import { DescribeService } from './describe.service.js';
import { type EpisodeQuotas, QUOTAS } from './episode.config.js';
import { EpisodeService } from './episode.service.js';

/** The module of episodes and their states. */
@Module({})
export class EpisodeModule {
  static forRoot(quotas: EpisodeQuotas): DynamicModule {
    return {
      module: EpisodeModule,
      controllers: [EpisodeService, ActionService, DescribeService],
      providers: [{ provide: QUOTAS, useValue: quotas }],
    };
  }
}
