import { Controller } from '@nestjs/common';
import { Ctx, Payload } from '@nestjs/microservices';
import { readDeletion, requestDeletion, type RequestOf } from '#contracts';
import { CallContext, Handle } from '#transport';
import { DeletionService } from './deletion.service.js';

/** The contracts that this service answers. */
@Controller()
export class DeletionController {
  constructor(private readonly deletions: DeletionService) {}

  @Handle(requestDeletion)
  request(@Payload() request: RequestOf<typeof requestDeletion>, @Ctx() context: CallContext) {
    return this.deletions.request(request, context);
  }

  @Handle(readDeletion)
  read(@Payload() request: RequestOf<typeof readDeletion>) {
    return this.deletions.read(request);
  }
}
