import { Controller, Get, Param, Req } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { type DeletionStatus, readDeletion } from '#contracts';
import { Services } from '#http';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { UserId } from '../http/server-options.js';
import { Operation } from '../openapi.decorators.js';
import { deletionSchema } from '../wire.schemas.js';

const statusMessages: Readonly<Record<DeletionStatus, string>> = {
  PENDING: 'Deletion is pending',
  SUCCESS: 'Subscription deleted successfully',
  FAILURE: 'The deletion process encountered an error and was rolled back',
};

/** Schema of a deletion id: a positive decimal integer that a JavaScript number can represent. */
const deletionIdSchema = z.string().regex(/^\d+$/).transform(Number).pipe(z.int().positive());

/** Serves /deletions (docs/reference/subscriptions.md, "Deletion"). */
@ApiTags('Deletions')
@Controller('deletions')
export class DeletionController {
  constructor(private readonly services: Services) {}

  @Get(':id')
  @Operation('Reads a deletion record', deletionSchema, [404, 405])
  async read(
    @UserId() userId: string,
    @Req() request: FastifyRequest,
    @Param('id', { schema: deletionIdSchema }) id: number,
  ) {
    const { status } = await this.services.call(readDeletion, request, { userId, deletionId: id });
    return { deletion_id: id, status, message: statusMessages[status] };
  }
}
