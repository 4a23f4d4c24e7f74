import { Body, Controller, Get, HttpCode, Param, Post, Put, Req } from '@nestjs/common';
import { countFeeds, listDevices, saveDevices } from '#contracts';
import { Services } from '#http';
import type { FastifyRequest } from 'fastify';
import { callerOf } from '../auth/request.caller.js';
import { readObjectBody } from '../http/input.js';
import { readDevice, readDeviceId } from './device.rules.js';

/** Maximum entries of a body, which limits it to 20 JSON values for each. */
const maxEntries = 1_000;

/**
 * Lists devices, and saves their captions and types. All devices of a user share one list of
 * subscriptions.
 */
@Controller()
export class DevicesController {
  constructor(private readonly services: Services) {}

  @Get('api/:version([12])/devices/:user.json')
  async list(@Req() request: FastifyRequest) {
    const { userId } = callerOf(request);
    const { devices } = await this.services.call(listDevices, request, { userId });
    if (devices.length === 0) return [];
    const { subscribed: subscriptions } = await this.services.call(countFeeds, request, { userId });
    return devices.map(({ id, caption, type }) => ({ id, caption, type, subscriptions }));
  }

  /** Answers with an empty body, because some clients report text as a failure. */
  @Post('api/:version([12])/devices/:user/:device.json')
  @HttpCode(200)
  async describe(
    @Req() request: FastifyRequest,
    @Param('device') device: string,
    @Body() body?: Buffer,
  ): Promise<void> {
    const { userId, credentialId } = callerOf(request);
    const id = readDeviceId(device);
    const saved = { id, ...readDevice(await readObjectBody(body, maxEntries)) };
    await this.services.call(saveDevices, request, { userId, credentialId, devices: [saved] });
  }

  @Put('api/:version([12])/devices/:user/:device.json')
  async describeByPut(
    @Req() request: FastifyRequest,
    @Param('device') device: string,
    @Body() body?: Buffer,
  ): Promise<void> {
    await this.describe(request, device, body);
  }

  /** Returns two or more devices as one synchronized group; links from clients are ignored. */
  @Get('api/2/sync-devices/:user.json')
  async linked(@Req() request: FastifyRequest) {
    const { userId } = callerOf(request);
    const { devices } = await this.services.call(listDevices, request, { userId });
    const ids = devices.map(({ id }) => id);
    return ids.length < 2
      ? { synchronized: [], 'not-synchronized': ids }
      : { synchronized: [ids], 'not-synchronized': [] };
  }

  @Post('api/2/sync-devices/:user.json')
  @HttpCode(200)
  async link(@Req() request: FastifyRequest, @Body() body?: Buffer) {
    await readObjectBody(body, maxEntries);
    return this.linked(request);
  }
}
