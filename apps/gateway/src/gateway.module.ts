import { type DynamicModule, Module, StandardSchemaValidationPipe } from '@nestjs/common';
import { APP_FILTER, APP_PIPE } from '@nestjs/core';
import { Failure } from '#contracts';
import type { Log } from '#runtime';
import { StreamClient } from '#transport';
import { ChangesController } from './changes/changes.controller.js';
import { ChangeStreams } from './changes/change.streams.js';
import { DeletionController } from './deletion/deletion.controller.js';
import { EpisodeController } from './episode/episode.controller.js';
import { CONFIG, type GatewayConfig } from './gateway.config.js';
import { FailureFilter } from './http/errors.js';
import { ListResponder } from './list/list.responder.js';
import { OpmlController } from './opml/opml.controller.js';
import { OpmlExport } from './opml/opml.export.js';
import { OpmlImport } from './opml/opml.import.js';
import { Services } from './services.js';
import { SubscriptionController } from './subscription/subscription.controller.js';

/** Handlers, validation and error answers; the credential was checked before (http/admission.ts). */
@Module({})
export class GatewayModule {
  static forRoot(config: GatewayConfig, client: StreamClient, streams: ChangeStreams, log: Log): DynamicModule {
    return {
      module: GatewayModule,
      controllers: [OpmlController, SubscriptionController, EpisodeController, DeletionController, ChangesController],
      providers: [
        { provide: CONFIG, useValue: config },
        { provide: StreamClient, useValue: client },
        { provide: ChangeStreams, useValue: streams },
        { provide: APP_FILTER, useValue: new FailureFilter(config, log) },
        {
          provide: APP_PIPE,
          useValue: new StandardSchemaValidationPipe({ exceptionFactory: () => new Failure('invalid') }),
        },
        Services,
        ListResponder,
        OpmlExport,
        OpmlImport,
      ],
    };
  }
}
