import { Body, Controller, Get, HttpCode, Param, Post, Req } from '@nestjs/common';
import { Failure } from '#contracts';
import type { FastifyRequest } from 'fastify';
import { objectOf, queryOf } from '../http/input.js';
import { readSettingChanges } from './settings.rule.js';
import { Settings } from './settings.js';

const path = 'api/2/settings/:user/:scope(account|device|podcast|episode).json';

/** What one change may have: bytes, as a scope keeps 64 KiB, and entries of twenty values each. */
const [mostBytes, mostEntries] = [131_072, 50];

/** Settings that clients keep here: of the account, a device, a podcast or an episode. */
@Controller()
export class SettingsController {
  constructor(private readonly settings: Settings) {}

  @Get(path)
  read(@Req() request: FastifyRequest, @Param('scope') scope: string) {
    return this.settings.change(request, subjectOf(scope, queryOf(request)), { set: {}, remove: [] });
  }

  @Post(path)
  @HttpCode(200)
  async change(@Req() request: FastifyRequest, @Param('scope') scope: string, @Body() body?: Buffer) {
    const subject = subjectOf(scope, queryOf(request));
    if (body && body.length > mostBytes) throw new Failure('invalid');
    const changes = readSettingChanges(await objectOf(body, mostEntries));
    return this.settings.change(request, subject, changes);
  }
}

/** What a query says that settings are of. @throws Failure `invalid` where it leaves out what the scope needs. */
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
