import { Body, Controller, Get, HttpCode, Param, Post, Put, Req } from '@nestjs/common';
import { countFeeds, listDevices, saveDevices } from '#contracts';
import { Services } from '#http';
import type { FastifyRequest } from 'fastify';
import { callerOf } from '../auth/request-caller.js';
import { parseObjectBody } from '../http/input.js';
import { parseDevice, parseDeviceId } from './device.rules.js';

/** Maximum JSON values of a body. */
const maxValues = 20_000;

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

  /** Saves a device. Answers with an empty body, because some clients report text as a failure. */
  @Post('api/:version([12])/devices/:user/:device.json')
  @HttpCode(200)
  async save(
    @Req() request: FastifyRequest,
    @Param('device') device: string,
    @Body() body?: Buffer,
  ): Promise<void> {
    const { userId, credentialId } = callerOf(request);
    const id = parseDeviceId(device);
    const savedDevice = { id, ...parseDevice(await parseObjectBody(body, maxValues)) };
    await this.services.call(saveDevices, request, {
      userId,
      credentialId,
      devices: [savedDevice],
    });
  }

  @Put('api/:version([12])/devices/:user/:device.json')
  async saveByPut(
    @Req() request: FastifyRequest,
    @Param('device') device: string,
    @Body() body?: Buffer,
  ): Promise<void> {
    await this.save(request, device, body);
  }

  /** Returns two or more devices as one group, because all have the same subscriptions. */
  @Get('api/2/sync-devices/:user.json')
  async listSynchronized(@Req() request: FastifyRequest) {
    const { userId } = callerOf(request);
    const { devices } = await this.services.call(listDevices, request, { userId });
    const deviceIds = devices.map(({ id }) => id);
    return deviceIds.length < 2
      ? { synchronized: [], 'not-synchronized': deviceIds }
      : { synchronized: [deviceIds], 'not-synchronized': [] };
  }

  /** Ignores a client's links between devices, and returns {@link listSynchronized}. */
  @Post('api/2/sync-devices/:user.json')
  @HttpCode(200)
  async ignoreLinks(@Req() request: FastifyRequest, @Body() body?: Buffer) {
    await parseObjectBody(body, maxValues);
    return this.listSynchronized(request);
  }
}
