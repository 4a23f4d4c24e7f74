// The program of a thread that reads one OPML document (opml.reader.ts).
import { parentPort, workerData } from 'node:worker_threads';
import { feedsOf } from './opml.rule.js';

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origins
parentPort?.postMessage(feedsOf(workerData as Uint8Array));
