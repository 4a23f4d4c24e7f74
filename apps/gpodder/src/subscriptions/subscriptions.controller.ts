import { Body, Controller, Get, HttpCode, Inject, Param, Post, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { deviceIdOf } from '../devices/device.rule.js';
import { KnownDevices } from '../devices/known.devices.js';
import { CONFIG, type GpodderConfig } from '../gpodder.config.js';
import { objectOf, queryOf, sinceOf } from '../http/input.js';
import { readChanges } from './changes.rule.js';
import { Feeds } from './feeds.js';

/** Deltas of subscriptions: gpodder API v2, with or without a device, and Nextcloud. */
@Controller()
export class SubscriptionsController {
  constructor(
    private readonly feeds: Feeds,
    private readonly devices: KnownDevices,
    @Inject(CONFIG) private readonly config: GpodderConfig,
  ) {}

  @Get('api/:version([12])/subscriptions/:user/:device.json')
  async ofDevice(@Req() request: FastifyRequest, @Param('device') device: string) {
    const [delta] = await Promise.all([
      this.changedSince(request),
      this.devices.use(request, [deviceIdOf(device)]),
    ]);
    return delta;
  }

  @Get(['api/:version([12])/subscriptions/:user.json', 'index.php/apps/gpoddersync/subscriptions'])
  async changedSince(@Req() request: FastifyRequest) {
    const since = sinceOf(queryOf(request));
    // HEAD sends no list, so it must not update the client's sync state.
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
    const id = deviceIdOf(device);
    const [answer] = await Promise.all([
      this.change(request, body),
      this.devices.use(request, [id]),
    ]);
    return answer;
  }

  @Post([
    'api/:version([12])/subscriptions/:user.json',
    'index.php/apps/gpoddersync/subscription_change/create',
  ])
  @HttpCode(200)
  async change(@Req() request: FastifyRequest, @Body() body?: Buffer) {
    const changes = await readChanges(
      await objectOf(body, this.config.MAX_ENTRIES),
      this.config.MAX_ENTRIES,
    );
    return this.feeds.change(request, changes);
  }
}
