import { Controller, Get, Inject, Req } from '@nestjs/common';
import { ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import { linkBase } from '#http';
import type { FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { CONFIG, type GatewayConfig } from '../gateway.config.js';
import { capabilitiesSchema } from '../wire.schemas.js';

/**
 * Names of the additions to the draft that this server has with any configuration
 * (docs/reference/interface-opml-changes.md, "Capabilities").
 */
const additions = [
  'changes',
  'duration',
  'idempotency',
  'opml',
  'podcast-episodes',
  'polling',
  'timestamps',
  'titles',
  'uploads',
] as const;

/** Serves /capabilities (docs/reference/interface-opml-changes.md, "Capabilities"). */
@ApiTags('Capabilities')
@Controller('capabilities')
export class CapabilitiesController {
  constructor(@Inject(CONFIG) private readonly config: GatewayConfig) {}

  @Get()
  @ApiOperation({ summary: 'Lists the versions of the draft and of its additions, by URN' })
  @ApiResponse({ status: 200, description: 'Success', standardSchema: capabilitiesSchema })
  read(@Req() request: FastifyRequest): z.output<typeof capabilitiesSchema> {
    const root = new URL(`${linkBase(request, this.config)}/v1`).pathname;
    // UNSTABLE, because the draft (0.1.0 in its schema.yml) can still change.
    const draftVersions = { '0.1.0': { status: 'UNSTABLE', root } } as const;
    // 0.2.0 is the release that last changed one of the additions incompatibly.
    const additionVersions = { '0.2.0': { status: 'UNSTABLE', root } } as const;
    const { FEEDS } = this.config;
    const additionNames = [
      ...additions,
      ...(FEEDS === 'off' ? [] : ['feeds']),
      ...(FEEDS === 'fetched' ? ['import'] : []),
    ];
    return {
      'urn:opa:core': draftVersions,
      ...Object.fromEntries(
        additionNames.map((name) => [`urn:podcast-sync:${name}`, additionVersions]),
      ),
    };
  }
}
