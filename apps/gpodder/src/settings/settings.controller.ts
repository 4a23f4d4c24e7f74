import { Body, Controller, Get, HttpCode, Param, Post, Req } from '@nestjs/common';
import { Failure } from '#contracts';
import type { FastifyRequest } from 'fastify';
import { parseObjectBody, queryOf } from '../http/input.js';
import { parseSettingChanges } from './settings.rules.js';
import { SettingsService } from './settings.service.js';

const path = 'api/2/settings/:user/:scope(account|device|podcast|episode).json';

/** Maximum bytes of a body (a scope has 64 KiB), and maximum JSON values in it. */
const [maxBytes, maxValues] = [131_072, 1_000];

/** Reads and changes settings of the account, a device, a podcast or an episode. */
@Controller()
export class SettingsController {
  constructor(private readonly settings: SettingsService) {}

  @Get(path)
  read(@Req() request: FastifyRequest, @Param('scope') scope: string) {
    return this.settings.change(request, parseOwner(scope, queryOf(request)), {
      set: {},
      remove: [],
    });
  }

  @Post(path)
  @HttpCode(200)
  async change(
    @Req() request: FastifyRequest,
    @Param('scope') scope: string,
    @Body() body?: Buffer,
  ) {
    const subject = parseOwner(scope, queryOf(request));
    if (body && body.length > maxBytes) throw new Failure('invalid');
    const changes = parseSettingChanges(await parseObjectBody(body, maxValues));
    return this.settings.change(request, subject, changes);
  }
}

/** Returns the owner of the settings that a query names. @throws Failure `invalid` without one. */
function parseOwner(scope: string, query: URLSearchParams) {
  const required = (name: string): string => {
    const value = query.get(name);
    if (!value) throw new Failure('invalid');
    return value;
  };
  switch (scope) {
    case 'account':
      return { of: scope } as const;
    case 'device':
      return { of: scope, id: required('device') } as const;
    case 'podcast':
      return { of: scope, podcast: required('podcast') } as const;
    default:
      return { of: 'episode', podcast: required('podcast'), episode: required('episode') } as const;
  }
}
