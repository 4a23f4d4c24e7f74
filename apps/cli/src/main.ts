#!/usr/bin/env node
import { podcastSync } from './podcast-sync.js';

process.exitCode = await podcastSync(process.argv.slice(2), process);
