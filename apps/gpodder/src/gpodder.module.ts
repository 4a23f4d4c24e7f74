import { type DynamicModule, Module } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { FailureFilter, Services } from '#http';
import type { Log } from '#runtime';
import { ActionController } from './actions/action.controller.js';
import { ActionListService } from './actions/action-list.service.js';
import { ActionUploadService } from './actions/action-upload.service.js';
import { LoginController } from './auth/login.controller.js';
import { GpodderSessions } from './auth/sessions.js';
import { DevicesController } from './devices/devices.controller.js';
import { DeviceRegistry } from './devices/device-registry.js';
import { DirectoryController } from './directory/directory.controller.js';
import { FavoritesController } from './favorites/favorites.controller.js';
import { UpdatesController } from './favorites/updates.controller.js';
import { CONFIG, type GpodderConfig, LOG } from './gpodder.config.js';
import { errorFormat } from './http/errors.js';
import { NextcloudController } from './nextcloud/nextcloud.controller.js';
import { SettingsController } from './settings/settings.controller.js';
import { SettingsService } from './settings/settings.service.js';
import { FeedListService } from './subscriptions/feed-list.service.js';
import { PodcastsService } from './subscriptions/podcasts.service.js';
import { ListsController } from './subscriptions/lists.controller.js';
import { SubscriptionsController } from './subscriptions/subscriptions.controller.js';

/** Objects that the module provides to controllers and services. */
interface GpodderDependencies {
  readonly config: GpodderConfig;
  readonly log: Log;
  readonly services: Services;
  readonly sessions: GpodderSessions;
}

/**
 * Controllers and services of the gpodder API. The HTTP server authenticates and authorizes each
 * request before a controller runs.
 */
@Module({})
export class GpodderModule {
  static forRoot({ config, log, services, sessions }: GpodderDependencies): DynamicModule {
    return {
      module: GpodderModule,
      controllers: [
        LoginController,
        ActionController,
        DevicesController,
        SubscriptionsController,
        ListsController,
        NextcloudController,
        SettingsController,
        FavoritesController,
        UpdatesController,
        DirectoryController,
      ],
      providers: [
        { provide: CONFIG, useValue: config },
        { provide: LOG, useValue: log },
        { provide: Services, useValue: services },
        { provide: GpodderSessions, useValue: sessions },
        { provide: APP_FILTER, useValue: new FailureFilter(errorFormat(config), log) },
        DeviceRegistry,
        FeedListService,
        PodcastsService,
        SettingsService,
        ActionUploadService,
        ActionListService,
      ],
    };
  }
}
