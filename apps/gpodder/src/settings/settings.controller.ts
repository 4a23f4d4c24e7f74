import { Body, Controller, Get, HttpCode, Param, Post, Req } from '@nestjs/common';
import { Failure } from '#contracts';
import type { FastifyRequest } from 'fastify';
import { objectOf, queryOf } from '../http/input.js';
import { readSettingChanges } from './settings.rule.js';
import { Settings } from './settings.js';

const path = 'api/2/settings/:user/:scope(account|device|podcast|episode).json';

/** Maximum bytes of one change, for 64 KiB in a scope, and its entries of twenty values each. */
const [mostBytes, mostEntries] = [131_072, 50];

/** Settings of clients: of the account, a device, a podcast or an episode. */
@Controller()
export class SettingsController {
  constructor(private readonly settings: Settings) {}

  @Get(path)
  read(@Req() request: FastifyRequest, @Param('scope') scope: string) {
    return this.settings.change(request, subjectOf(scope, queryOf(request)), {
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
    const subject = subjectOf(scope, queryOf(request));
    if (body && body.length > mostBytes) throw new Failure('invalid');
    const changes = readSettingChanges(await objectOf(body, mostEntries));
    return this.settings.change(request, subject, changes);
  }
}

/** Returns the subject in a query. @throws Failure `invalid` for a missing parameter. */
function subjectOf(scope: string, query: URLSearchParams) {
  const needed = (name: string): string => {
    const value = query.get(name);
    if (!value) throw new Failure('invalid');
    return value;
  };
  switch (scope) {
    case 'account':
      return { of: scope } as const;
    case 'device':
      return { of: scope, id: needed('device') } as const;
    case 'podcast':
      return { of: scope, podcast: needed('podcast') } as const;
    default:
      return { of: 'episode', podcast: needed('podcast'), episode: needed('episode') } as const;
  }
}
