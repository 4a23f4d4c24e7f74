import {
  Body,
  Controller,
  Get,
  HttpCode,
  Inject,
  Param,
  Post,
  Put,
  Req,
  Res,
} from '@nestjs/common';
import { Failure, listDevices } from '#contracts';
import { Services } from '#http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { callerOf } from '../auth/request-caller.js';
import { parseDeviceId } from '../devices/device.rules.js';
import { DeviceRegistry } from '../devices/device-registry.js';
import { CONFIG, type GpodderConfig } from '../gpodder.config.js';
import { queryOf } from '../http/input.js';
import { parseWholeList } from './changes.rules.js';
import { FeedListService } from './feed-list.service.js';
import { PodcastsService } from './podcasts.service.js';
import {
  type Format,
  parseFormat,
  toPodcastObject,
  parseFeedList,
  serializeFeeds,
} from './formats.js';

/** Path of the list of one device. */
const devicePath = 'subscriptions/:user/:device.:format([^.]*)';

/** Reads and replaces the list of subscriptions (simple API). All devices share one list. */
@Controller()
export class ListsController {
  constructor(
    private readonly feeds: FeedListService,
    private readonly podcasts: PodcastsService,
    private readonly devices: DeviceRegistry,
    private readonly services: Services,
    @Inject(CONFIG) private readonly config: GpodderConfig,
  ) {}

  @Get('subscriptions/:user.:format(json|jsonp|txt|opml|xml)')
  async readAll(@Res() reply: FastifyReply, @Param('format') format: Format) {
    const { request } = reply;
    const feeds = await this.feeds.listSubscribedFeeds(request);
    const podcastsByUrl = await this.podcasts.readByUrl(request);
    const items = feeds.map((feed) => toPodcastObject(feed, podcastsByUrl));
    const callback = queryOf(request).get('jsonp');
    const { type, body } = serializeFeeds(format, feeds, items, callback, podcastsByUrl);
    await reply.type(type).send(body);
  }

  @Get(devicePath)
  async readForDevice(
    @Res() reply: FastifyReply,
    @Param() { device = '', format = '' }: Readonly<Record<string, string>>,
  ) {
    const { request } = reply;
    const { userId } = callerOf(request);
    const deviceId = parseDeviceId(device);
    const supportedFormat = parseFormat(format, { except: ['xml'] });
    const { devices } = await this.services.call(listDevices, request, { userId });
    if (!devices.some(({ id }) => id === deviceId)) throw new Failure('not_found');
    const feeds = await this.feeds.listSubscribedFeeds(request);
    const urls = feeds.map(({ url }) => url);
    const podcastsByUrl =
      supportedFormat === 'opml' ? await this.podcasts.readByUrl(request) : undefined;
    const callback = queryOf(request).get('jsonp');
    const { type, body } = serializeFeeds(supportedFormat, feeds, urls, callback, podcastsByUrl);
    await reply.type(type).send(body);
  }

  @Put(devicePath)
  async replace(
    @Req() request: FastifyRequest,
    @Param() { device = '', format = '' }: Readonly<Record<string, string>>,
    @Body() body?: Buffer,
  ): Promise<void> {
    const deviceId = parseDeviceId(device);
    const supportedFormat = parseFormat(format, { except: ['xml', 'jsonp'] });
    const { MAX_ENTRIES: maxEntries } = this.config;
    const changes = await parseWholeList(
      await parseFeedList(supportedFormat, body, maxEntries),
      maxEntries,
    );
    await Promise.all([
      this.feeds.change(request, changes, true),
      this.devices.register(request, [deviceId]),
    ]);
  }

  @Post(devicePath)
  @HttpCode(200)
  async replaceByPost(
    @Req() request: FastifyRequest,
    @Param() parameters: Readonly<Record<string, string>>,
    @Body() body?: Buffer,
  ): Promise<void> {
    return this.replace(request, parameters, body);
  }
}
