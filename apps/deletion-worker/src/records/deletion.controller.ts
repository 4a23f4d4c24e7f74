import { Controller } from '@nestjs/common';
import { Ctx, Payload } from '@nestjs/microservices';
import { eraseUser, listDeletions, readDeletion, requestDeletion, type RequestOf } from '#contracts';
import { CallContext, Handle } from '#transport';
import { ErasureService } from '../erasure/erasure.service.js';
import { DeletionService } from './deletion.service.js';

/** The contracts that this service answers. */
@Controller()
export class DeletionController {
  constructor(
    private readonly deletions: DeletionService,
    private readonly erasures: ErasureService,
  ) {}

  @Handle(requestDeletion)
  request(@Payload() request: RequestOf<typeof requestDeletion>, @Ctx() context: CallContext) {
    return this.deletions.request(request, context);
  }

  @Handle(readDeletion)
  read(@Payload() request: RequestOf<typeof readDeletion>) {
    return this.deletions.read(request);
  }

  @Handle(listDeletions)
  list(@Payload() request: RequestOf<typeof listDeletions>) {
    return this.deletions.list(request);
  }

  @Handle(eraseUser)
  erase(@Payload() request: RequestOf<typeof eraseUser>, @Ctx() context: CallContext) {
    return this.erasures.request(request, context);
  }
}
