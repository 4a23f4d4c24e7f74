import './issuer/quiet.notices.js';
import { runApp } from '#runtime';
import { accountConfig } from './account.config.js';
import { serve } from './serve.js';

await runApp('account', accountConfig, serve);
