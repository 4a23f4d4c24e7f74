import { constants, createPublicKey, publicEncrypt } from 'node:crypto';
import { Body, Controller, Delete, Get, Inject, Post, Req } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  Failure,
  importSchema,
  readImport,
  startImport,
  stopImport,
  unlockImport,
} from '#contracts';
import { Services } from '#http';
import { RateCounter } from '#identity';
import type { FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { UserId } from '../http/server-options.js';
import { CONFIG, type GatewayConfig } from '../gateway.config.js';
import { Operation } from '../openapi.decorators.js';
import { importRequestSchema } from './feed.schemas.js';

/** Serves /feeds/import (docs/reference/interface-import.md). */
@ApiTags('Feeds')
@Controller('feeds/import')
export class ImportController {
  /** Limits each user to 10 starts of imports per minute. */
  private readonly startCounter = new RateCounter(10);

  constructor(
    private readonly services: Services,
    @Inject(CONFIG) private readonly config: GatewayConfig,
  ) {}

  @Post()
  @Operation(
    'Starts or continues the import of an account from another server',
    importSchema,
    [404, 405],
    { status: 202 },
  )
  async start(
    @UserId() userId: string,
    @Req() request: FastifyRequest,
    @Body({ schema: importRequestSchema })
    { source, login, password }: z.output<typeof importRequestSchema>,
  ) {
    if (this.config.FEEDS !== 'fetched') throw new Failure('not_found');
    this.startCounter.consume(userId);
    const account = { userId, source, login };
    const { id, publicKey } = await this.services.call(startImport, request, account);
    const sealed = encryptPassword(password, publicKey);
    return this.services.call(unlockImport, request, { userId, id, sealed });
  }

  @Get()
  @Operation("Returns the user's last import", importSchema, [404])
  read(@UserId() userId: string, @Req() request: FastifyRequest) {
    return this.services.call(readImport, request, { userId });
  }

  @Delete()
  @Operation("Stops the user's import", importSchema, [404])
  stop(@UserId() userId: string, @Req() request: FastifyRequest) {
    return this.services.call(stopImport, request, { userId });
  }
}

/** Encrypts a password for the feed service. Redis and Postgres never store the plain text. */
function encryptPassword(password: string, publicKey: string): string {
  const key = createPublicKey({
    key: Buffer.from(publicKey, 'base64'),
    format: 'der',
    type: 'spki',
  });
  const padding = constants.RSA_PKCS1_OAEP_PADDING;
  return publicEncrypt({ key, padding, oaepHash: 'sha256' }, Buffer.from(password)).toString(
    'base64',
  );
}
