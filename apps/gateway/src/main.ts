import { runApp } from '#runtime';
import { gatewayConfig } from './gateway.config.js';
import { serve } from './serve.js';

await runApp('gateway', gatewayConfig, (config, log) => serve(config, log));
