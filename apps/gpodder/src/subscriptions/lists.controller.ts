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
import type { Caller } from '../auth/authenticator.js';
import { By } from '../auth/request.caller.js';
import { deviceIdOf } from '../devices/device.rule.js';
import { KnownDevices } from '../devices/known.devices.js';
import { CONFIG, type GpodderConfig } from '../gpodder.config.js';
import { parsed, queryOf } from '../http/input.js';
import { readWhole } from './changes.rule.js';
import { Feeds } from './feeds.js';
import { Podcasts } from './podcasts.js';
import { type Format, formatOf, podcastObject, readFeeds, showFeeds } from './formats.js';

const ofDevice = 'subscriptions/:user/:device.:format([^.]*)';

/** Whole lists of subscriptions (simple API). They are the same for all devices. */
@Controller()
export class ListsController {
  constructor(
    private readonly feeds: Feeds,
    private readonly podcasts: Podcasts,
    private readonly devices: KnownDevices,
    private readonly services: Services,
    @Inject(CONFIG) private readonly config: GpodderConfig,
  ) {}

  @Get('subscriptions/:user.:format(json|jsonp|txt|opml|xml)')
  async all(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @Param('format') format: Format,
  ) {
    const urls = await this.feeds.subscribed(request);
    const described = await this.podcasts.described(request);
    const items = urls.map((url) => podcastObject(url, described));
    const callback = queryOf(request).get('jsonp');
    const { type, body } = showFeeds(format, urls, items, callback, described);
    await reply.type(type).send(body);
  }

  @Get(ofDevice)
  async onDevice(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @By() { userId }: Caller,
    @Param() { device = '', format = '' }: Readonly<Record<string, string>>,
  ) {
    const id = deviceIdOf(device);
    const known = formatOf(format, ['xml']);
    const { devices } = await this.services.call(listDevices, request, { userId });
    if (!devices.some((one) => one.id === id)) throw new Failure('not_found');
    const urls = await this.feeds.subscribed(request);
    const described = known === 'opml' ? await this.podcasts.described(request) : undefined;
    const { type, body } = showFeeds(known, urls, urls, queryOf(request).get('jsonp'), described);
    await reply.type(type).send(body);
  }

  @Put(ofDevice)
  async replace(
    @Req() request: FastifyRequest,
    @Param() { device = '', format = '' }: Readonly<Record<string, string>>,
    @Body() body?: Buffer,
  ): Promise<void> {
    const id = deviceIdOf(device);
    const known = formatOf(format, ['xml', 'jsonp']);
    const json = (bytes: Buffer) => parsed(bytes, this.config.MAX_ENTRIES);
    const changes = await readWhole(await readFeeds(known, body, json), this.config.MAX_ENTRIES);
    await Promise.all([this.feeds.change(request, changes, true), this.devices.use(request, [id])]);
  }

  @Post(ofDevice)
  @HttpCode(200)
  async replaceByPost(
    @Req() request: FastifyRequest,
    @Param() parameters: Readonly<Record<string, string>>,
    @Body() body?: Buffer,
  ): Promise<void> {
    return this.replace(request, parameters, body);
  }
}
