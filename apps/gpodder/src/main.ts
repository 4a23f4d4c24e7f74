import { runApp } from '#runtime';
import { gpodderConfig } from './gpodder.config.js';
import { serve } from './serve.js';

await runApp('gpodder', gpodderConfig, (config, log) => serve(config, log));
