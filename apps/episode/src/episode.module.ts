import { Module } from '@nestjs/common';
import { EpisodeController } from './episode.controller.js';
import { EpisodeService } from './episode.service.js';

/** Episodes and their states. */
@Module({ controllers: [EpisodeController], providers: [EpisodeService] })
export class EpisodeModule {}
