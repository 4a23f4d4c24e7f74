import { Body, Controller, Get, HttpCode, Inject, Param, Post, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { parseDeviceId } from '../devices/device.rules.js';
import { DeviceRegistry } from '../devices/device-registry.js';
import { CONFIG, type GpodderConfig } from '../gpodder.config.js';
import { maxValuesOf, parseObjectBody, queryOf, parseSince } from '../http/input.js';
import { parseChanges } from './changes.rules.js';
import { FeedListService } from './feed-list.service.js';

/** Serves downloads and uploads of changed subscriptions (gpodder API v2 and Nextcloud). */
@Controller()
export class SubscriptionsController {
  constructor(
    private readonly feeds: FeedListService,
    private readonly devices: DeviceRegistry,
    @Inject(CONFIG) private readonly config: GpodderConfig,
  ) {}

  @Get('api/:version([12])/subscriptions/:user/:device.json')
  async changedSinceForDevice(@Req() request: FastifyRequest, @Param('device') device: string) {
    const [delta] = await Promise.all([
      this.changedSince(request),
      this.devices.register(request, [parseDeviceId(device)]),
    ]);
    return delta;
  }

  @Get(['api/:version([12])/subscriptions/:user.json', 'index.php/apps/gpoddersync/subscriptions'])
  async changedSince(@Req() request: FastifyRequest) {
    const since = parseSince(queryOf(request));
    // A HEAD must not update the client's sync state, because the client gets no list.
    return request.method === 'HEAD'
      ? (await this.feeds.peekSince(request, since)).delta
      : this.feeds.changedSince(request, since);
  }

  @Post('api/:version([12])/subscriptions/:user/:device.json')
  @HttpCode(200)
  async changeOnDevice(
    @Req() request: FastifyRequest,
    @Param('device') device: string,
    @Body() body?: Buffer,
  ) {
    const deviceId = parseDeviceId(device);
    const [answer] = await Promise.all([
      this.change(request, body),
      this.devices.register(request, [deviceId]),
    ]);
    return answer;
  }

  @Post([
    'api/:version([12])/subscriptions/:user.json',
    'index.php/apps/gpoddersync/subscription_change/create',
  ])
  @HttpCode(200)
  async change(@Req() request: FastifyRequest, @Body() body?: Buffer) {
    const changes = await parseChanges(
      await parseObjectBody(body, maxValuesOf(this.config.MAX_ENTRIES)),
      this.config.MAX_ENTRIES,
    );
    return this.feeds.change(request, changes);
  }
}
