import { Controller } from '@nestjs/common';
import { Ctx, Payload } from '@nestjs/microservices';
import {
  listActions,
  listEpisodes,
  type ListRequest,
  loadEpisodes,
  type RequestOf,
  uploadActions,
  uploadEpisodes,
} from '#contracts';
import { CallContext, Handle } from '#transport';
import { ActionService } from './action.service.js';
import { EpisodeService } from './episode.service.js';

/** The contracts that this service answers. */
@Controller()
export class EpisodeController {
  constructor(
    private readonly episodes: EpisodeService,
    private readonly actions: ActionService,
  ) {}

  @Handle(uploadEpisodes)
  upload(@Payload() request: RequestOf<typeof uploadEpisodes>, @Ctx() context: CallContext) {
    return this.episodes.upload(request, context);
  }

  @Handle(loadEpisodes)
  load(@Payload() request: RequestOf<typeof loadEpisodes>, @Ctx() context: CallContext) {
    return this.episodes.load(request, context);
  }

  @Handle(listEpisodes)
  list(@Payload() request: ListRequest) {
    return this.episodes.list(request);
  }

  @Handle(uploadActions)
  uploadActions(@Payload() request: RequestOf<typeof uploadActions>, @Ctx() context: CallContext) {
    return this.actions.upload(request, context);
  }

  @Handle(listActions)
  listActions(@Payload() request: RequestOf<typeof listActions>, @Ctx() context: CallContext) {
    return this.actions.list(request, context);
  }
}
