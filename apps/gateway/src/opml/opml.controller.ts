import { Body, Controller, Get, Post, Req, Res } from '@nestjs/common';
import { ApiBody, ApiConsumes, ApiTags } from '@nestjs/swagger';
import { Failure, importedSchema } from '#contracts';
import { xmlTypes } from '#http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiIdempotencyKey, Operation } from '../openapi.decorators.js';
import { OpmlExport } from './opml-export.js';
import { OpmlImport } from './opml-import.js';

/** Exports and imports subscriptions as OPML (docs/reference/interface-opml-changes.md, "OPML"). */
@ApiTags('Subscriptions')
@Controller()
export class OpmlController {
  constructor(
    private readonly exports: OpmlExport,
    private readonly imports: OpmlImport,
  ) {}

  @Get('subscriptions.opml')
  @Operation('Exports all subscribed feeds as OPML', 'text/x-opml')
  export(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.exports.sendDocument(request, reply);
  }

  @Post('subscriptions/opml')
  @ApiIdempotencyKey()
  @ApiConsumes(...xmlTypes)
  @ApiBody({
    description: 'An OPML document: of 5,000 feeds and 2 MiB at most.',
    schema: { type: 'string' },
  })
  @Operation('Adds subscriptions from OPML', importedSchema, [405])
  import(@Req() request: FastifyRequest, @Body() body: unknown) {
    if (!Buffer.isBuffer(body)) throw new Failure('invalid');
    return this.imports.run(request, body);
  }
}
