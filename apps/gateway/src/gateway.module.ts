import { type DynamicModule, Module, StandardSchemaValidationPipe } from '@nestjs/common';
import { APP_FILTER, APP_PIPE } from '@nestjs/core';
import { Failure } from '#contracts';
import { FailureFilter, Services } from '#http';
import type { Log } from '#runtime';
import { CapabilitiesController } from './capabilities/capabilities.controller.js';
import { ChangesController } from './changes/changes.controller.js';
import { ChangeStreams } from './changes/change-streams.js';
import { DeletionController } from './deletion/deletion.controller.js';
import { EpisodeController } from './episode/episode.controller.js';
import { FeedController } from './feed/feed.controller.js';
import { ImportController } from './feed/import.controller.js';
import { CONFIG, type GatewayConfig } from './gateway.config.js';
import { errorFormat } from './http/errors.js';
import { Cursors } from './list/cursor.js';
import { ListResponder } from './list/list-responder.js';
import { OpmlController } from './opml/opml.controller.js';
import { OpmlExport } from './opml/opml-export.js';
import { OpmlImport } from './opml/opml-import.js';
import { SubscriptionController } from './subscription/subscription.controller.js';

/** Objects that the module provides to the controllers. */
interface GatewayDependencies {
  readonly config: GatewayConfig;
  readonly services: Services;
  readonly streams: ChangeStreams;
  readonly log: Log;
}

/** The controllers of the gateway. The HTTP adapter authenticates requests before routing. */
@Module({})
export class GatewayModule {
  static forRoot({ config, services, streams, log }: GatewayDependencies): DynamicModule {
    return {
      module: GatewayModule,
      controllers: [
        OpmlController,
        SubscriptionController,
        EpisodeController,
        DeletionController,
        ChangesController,
        CapabilitiesController,
        ...(config.FEEDS === 'off' ? [] : [FeedController, ImportController]),
      ],
      providers: [
        { provide: CONFIG, useValue: config },
        { provide: Services, useValue: services },
        { provide: ChangeStreams, useValue: streams },
        { provide: APP_FILTER, useValue: new FailureFilter(errorFormat(config), log) },
        {
          provide: APP_PIPE,
          useValue: new StandardSchemaValidationPipe({
            exceptionFactory: () => new Failure('invalid'),
          }),
        },
        { provide: Cursors, useValue: new Cursors(config.CURSOR_KEY) },
        ListResponder,
        OpmlExport,
        OpmlImport,
      ],
    };
  }
}
