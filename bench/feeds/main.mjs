// Measures the feed reader on one core, without the network.
//   npm run bench:feeds
// Prints MB (1,000,000 bytes) per second, milliseconds per feed, and the longest chunk, for a feed
// with 300 episodes whose texts are like those of real feeds.
import { FeedReader } from '../../dist/apps/feed/src/document/feed.reader.js';

const chunkBytes = 16_384;
const seconds = 3;

const notes = '<p>Notes &amp; links of this episode: <a href="https://a.example/">home</a>.</p>';
const items = Array.from(
  { length: 300 },
  (_, n) => `
    <item>
      <title>Episode ${n}: cause &amp; effect</title>
      <guid isPermaLink="false">urn:episode:${n}</guid>
      <pubDate>Wed, 02 Oct 2002 13:00:00 +0200</pubDate>
      <link>https://a.example/episodes/${n}</link>
      <description><![CDATA[${notes.repeat(25)}]]></description>
      <content:encoded><![CDATA[${notes.repeat(40)}]]></content:encoded>
      <enclosure url="https://a.example/${n}.mp3?a=1&amp;b=2" length="1" type="audio/mpeg"/>
      <itunes:duration>1:02:03</itunes:duration>
      <itunes:image href="https://a.example/${n}.png"/>
      <itunes:explicit>false</itunes:explicit>
      <podcast:transcript url="https://a.example/${n}.vtt" type="text/vtt"/>
    </item>`,
);
const feed = Buffer.from(`<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0"><channel><title>Cause &amp; effect</title>${items.join('')}</channel></rss>`);

let longestMs = 0;
function read() {
  const reader = new FeedReader('application/rss+xml');
  for (let offset = 0; offset < feed.length; offset += chunkBytes) {
    const start = performance.now();
    reader.write(feed.subarray(offset, offset + chunkBytes));
    longestMs = Math.max(longestMs, performance.now() - start);
  }
  const { isWhole, items: found } = reader.end();
  if (!isWhole || found.length !== items.length) throw new Error('The feed was not read.');
}

for (let n = 0; n < 50; n++) read();
longestMs = 0;
const cpu = process.cpuUsage();
const end = performance.now() + seconds * 1_000;
let feeds = 0;
for (; performance.now() < end; feeds++) read();
const { user, system } = process.cpuUsage(cpu);
const cpuMs = (user + system) / 1_000;
const perSecond = (feeds * feed.length) / 1e3 / cpuMs;
process.stdout.write(
  `${perSecond.toFixed(0)} MB/s of CPU time, ${(cpuMs / feeds).toFixed(1)} ms per feed of ` +
    `${(feed.length / 1e6).toFixed(2)} MB, longest chunk ${longestMs.toFixed(1)} ms\n`,
);
