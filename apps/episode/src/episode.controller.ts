import { Controller } from '@nestjs/common';
import { Ctx, Payload } from '@nestjs/microservices';
import { listEpisodes, type ListRequest, type RequestOf, uploadEpisodes } from '#contracts';
import { CallContext, Handle } from '#transport';
import { EpisodeService } from './episode.service.js';

/** The contracts that this service answers. */
@Controller()
export class EpisodeController {
  constructor(private readonly episodes: EpisodeService) {}

  @Handle(uploadEpisodes)
  upload(@Payload() request: RequestOf<typeof uploadEpisodes>, @Ctx() context: CallContext) {
    return this.episodes.upload(request, context);
  }

  @Handle(listEpisodes)
  list(@Payload() request: ListRequest) {
    return this.episodes.list(request);
  }
}
