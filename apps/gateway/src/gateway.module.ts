import { type DynamicModule, Module, StandardSchemaValidationPipe } from '@nestjs/common';
import { APP_FILTER, APP_PIPE } from '@nestjs/core';
import { Failure } from '#contracts';
import type { Log } from '#runtime';
import { StreamClient } from '#transport';
import { DeletionController } from './deletion/deletion.controller.js';
import { EpisodeController } from './episode/episode.controller.js';
import { CONFIG, type GatewayConfig } from './gateway.config.js';
import { FailureFilter } from './http/errors.js';
import { ListResponder } from './list/list.responder.js';
import { Services } from './services.js';
import { SubscriptionController } from './subscription/subscription.controller.js';

/** Handlers, validation and error answers; the credential was checked before (http/admission.ts). */
@Module({})
export class GatewayModule {
  static forRoot(config: GatewayConfig, client: StreamClient, log: Log): DynamicModule {
    return {
      module: GatewayModule,
      controllers: [SubscriptionController, EpisodeController, DeletionController],
      providers: [
        { provide: CONFIG, useValue: config },
        { provide: StreamClient, useValue: client },
        { provide: APP_FILTER, useValue: new FailureFilter(config, log) },
        {
          provide: APP_PIPE,
          useValue: new StandardSchemaValidationPipe({ exceptionFactory: () => new Failure('invalid') }),
        },
        Services,
        ListResponder,
      ],
    };
  }
}
