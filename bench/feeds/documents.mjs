import { hash } from 'node:crypto';

/** Notes of an episode, as publishers write them. */
const notes = '<p>Notes &amp; links of this episode: <a href="https://a.example/">home</a>.</p>';

/** Returns a feed with episodes. `repeats` sets the length of the notes, `version` a title. */
export function feedOf({ episodes, repeats, version = 0 }) {
  // Random texts, as real names and addresses are not compressible either.
  const name = (n) => hash('sha256', `${n}`);
  const items = Array.from(
    { length: episodes },
    (_, n) => `
    <item>
      <title>Episode ${name(n).slice(0, 30)}: cause &amp; effect ${n === 0 ? version : ''}</title>
      <guid isPermaLink="false">${name(n).slice(0, 36)}</guid>
      <pubDate>${new Date(Date.UTC(2026, 0, 1) - n * 604_800_000).toUTCString()}</pubDate>
      <link>https://a.example/episodes/${name(n).slice(0, 20)}</link>
      <description><![CDATA[${notes.repeat(repeats)}]]></description>
      <content:encoded><![CDATA[${notes.repeat(1.6 * repeats)}]]></content:encoded>
      <enclosure url="https://a.example/${name(n)}.mp3?a=1&amp;b=2" length="1" type="audio/mpeg"/>
      <itunes:duration>1:02:03</itunes:duration>
      <itunes:image href="https://a.example/${name(n)}.png"/>
      <itunes:explicit>false</itunes:explicit>
      <podcast:transcript url="https://a.example/${name(n)}.vtt" type="text/vtt"/>
    </item>`,
  );
  return Buffer.from(`<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0"><channel><title>Cause &amp; effect</title>${items.join('')}</channel></rss>`);
}
