import { runService } from '#transport/service';
import { feedConfig } from './feed.config.js';
import { FeedModule } from './feed.module.js';

await runService('feed', 'feed', feedConfig, (config, log) => FeedModule.forRoot(config, log));
