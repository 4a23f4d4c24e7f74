import '../../account/src/issuer/suppress-provider-notices.js';
import { runApp } from '#runtime';
import { edgeConfig } from './edge.config.js';
import { serve } from './serve.js';

await runApp('edge', edgeConfig, serve);
