import { Body, Controller, Get, HttpCode, Param, Post, Put, Req } from '@nestjs/common';
import { countFeeds, listDevices, saveDevices } from '#contracts';
import { Services } from '#http';
import type { FastifyRequest } from 'fastify';
import type { Caller } from '../auth/authenticator.js';
import { By } from '../auth/request.caller.js';
import { objectOf } from '../http/input.js';
import { describedDevice, deviceIdOf } from './device.rule.js';

const mostEntries = 1_000;

/** Devices: names for display. All devices of a user share one list of subscriptions. */
@Controller()
export class DevicesController {
  constructor(private readonly services: Services) {}

  @Get('api/:version([12])/devices/:user.json')
  async list(@Req() request: FastifyRequest, @By() { userId }: Caller) {
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
    @By() { userId }: Caller,
    @Param('device') device: string,
    @Body() body?: Buffer,
  ): Promise<void> {
    const described = {
      id: deviceIdOf(device),
      ...describedDevice(await objectOf(body, mostEntries)),
    };
    await this.services.call(saveDevices, request, { userId, devices: [described] });
  }

  @Put('api/:version([12])/devices/:user/:device.json')
  async describeByPut(
    @Req() request: FastifyRequest,
    @By() caller: Caller,
    @Param('device') device: string,
    @Body() body?: Buffer,
  ): Promise<void> {
    await this.describe(request, caller, device, body);
  }

  /** Returns all devices as synchronized, independent of links. */
  @Get('api/2/sync-devices/:user.json')
  async linked(@Req() request: FastifyRequest, @By() { userId }: Caller) {
    const { devices } = await this.services.call(listDevices, request, { userId });
    const ids = devices.map(({ id }) => id);
    const isOne = ids.length < 2;
    return { synchronized: isOne ? [] : [ids], 'not-synchronized': isOne ? ids : [] };
  }

  @Post('api/2/sync-devices/:user.json')
  @HttpCode(200)
  async link(@Req() request: FastifyRequest, @By() caller: Caller, @Body() body?: Buffer) {
    await objectOf(body, mostEntries);
    return this.linked(request, caller);
  }
}
