import { runService, serviceConfig } from '#runtime';
import { EpisodeModule } from './episode.module.js';

await runService('episode', 'episode', serviceConfig, () => ({ module: EpisodeModule }));
