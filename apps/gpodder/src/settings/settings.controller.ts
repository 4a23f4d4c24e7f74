import { Body, Controller, Get, HttpCode, Param, Post, Req } from '@nestjs/common';
import { Failure } from '#contracts';
import type { FastifyRequest } from 'fastify';
import { parseObjectBody, queryOf } from '../http/input.js';
import { parseSettingChanges } from './settings.rules.js';
import { SettingsService } from './settings.service.js';

const settingsPath = 'api/2/settings/:user/:scope(account|device|podcast|episode).json';

/** Maximum bytes of a body, and maximum JSON values in a body. A scope has at most 64 KiB. */
const [maxBytes, maxValues] = [131_072, 1_000];

/** Reads and changes settings of the account, a device, a podcast or an episode. */
@Controller()
export class SettingsController {
  constructor(private readonly settings: SettingsService) {}

  @Get(settingsPath)
  read(@Req() request: FastifyRequest, @Param('scope') scope: string) {
    return this.settings.change(request, parseOwner(scope, queryOf(request)), {
      set: {},
      remove: [],
    });
  }

  @Post(settingsPath)
  @HttpCode(200)
  async change(
    @Req() request: FastifyRequest,
    @Param('scope') scope: string,
    @Body() body?: Buffer,
  ) {
    const owner = parseOwner(scope, queryOf(request));
    if (body && body.length > maxBytes) throw new Failure('invalid');
    const changes = parseSettingChanges(await parseObjectBody(body, maxValues));
    return this.settings.change(request, owner, changes);
  }
}

/** Returns the owner of settings, with ids from the query. @throws Failure `invalid`. */
function parseOwner(scope: string, query: URLSearchParams) {
  const requireParameter = (name: string): string => {
    const value = query.get(name);
    if (!value) throw new Failure('invalid');
    return value;
  };
  switch (scope) {
    case 'account':
      return { of: scope } as const;
    case 'device':
      return { of: scope, id: requireParameter('device') } as const;
    case 'podcast':
      return { of: scope, podcast: requireParameter('podcast') } as const;
    default:
      return {
        of: 'episode',
        podcast: requireParameter('podcast'),
        episode: requireParameter('episode'),
      } as const;
  }
}
