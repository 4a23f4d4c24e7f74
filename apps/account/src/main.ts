import './issuer/suppress-provider-notices.js';
import { runApp } from '#runtime';
import { accountConfig } from './account.config.js';
import { serve } from './serve.js';

await runApp('account', accountConfig, serve);
