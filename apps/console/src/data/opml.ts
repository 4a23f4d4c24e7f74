import type { OpmlFeed } from '#opml';

/** Why a file has no feeds to import. */
export type FileProblem = 'tooLarge' | 'invalidFile' | 'noFeeds' | 'failed';

/** Ends the present task of the browser, so that it can draw. */
const nextTask = () => new Promise<void>((resolve) => setTimeout(resolve));

/** The feeds of an OPML file, each once, in its order. The reader is loaded with the first file. */
export async function readFeeds(file: File): Promise<OpmlFeed[] | FileProblem> {
  try {
    const { maxOpmlBytes, readOpml } = await import('#opml');
    if (file.size > maxOpmlBytes) return 'tooLarge';
    const bytes = new Uint8Array(await file.arrayBuffer());
    const opml = await readOpml(bytes, nextTask).catch(() => undefined);
    if (!opml) return 'invalidFile';
    const feeds = [...new Map(opml.feeds.map((feed) => [feed.feedUrl, feed])).values()];
    return feeds.length > 0 ? feeds : 'noFeeds';
  } catch {
    // The reader or the file can't be loaded.
    return 'failed';
  }
}
