import { runService, serviceConfig } from '#runtime/service';
import { EpisodeModule } from './episode.module.js';

await runService('episode', 'episode', serviceConfig, () => ({ module: EpisodeModule }));
