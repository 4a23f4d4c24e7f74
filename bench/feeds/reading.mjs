import { FeedReader } from '../../dist/apps/feed/src/document/feed-reader.js';
import { feedOf } from './documents.mjs';

const chunkBytes = 16_384;
const [episodes, seconds] = [300, 3];
const feed = feedOf({ episodes, repeats: 25 });

function read() {
  const reader = new FeedReader('application/rss+xml');
  for (let offset = 0; offset < feed.length; offset += chunkBytes)
    reader.write(feed.subarray(offset, offset + chunkBytes));
  const { isWhole, items } = reader.end();
  if (!isWhole || items.length === 0) throw new Error('The feed was not read.');
}

/** Returns the MB (1,000,000 bytes) of a feed that are parsed per second of CPU time. */
export function parsedPerSecond() {
  for (let n = 0; n < 50; n++) read();
  const before = process.cpuUsage();
  const end = performance.now() + seconds * 1_000;
  let feeds = 0;
  for (; performance.now() < end; feeds++) read();
  const { user, system } = process.cpuUsage(before);
  return (feeds * feed.length) / (user + system);
}
