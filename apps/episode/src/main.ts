import { runService } from '#transport/service';
import { episodeConfig } from './episode.config.js';
import { EpisodeModule } from './episode.module.js';

await runService('episode', 'episode', episodeConfig, (config) => EpisodeModule.forRoot(config));
