import type { Opml } from '#opml';

/** Reason why no feeds can be imported from a file. */
export type FileProblem = 'tooLarge' | 'invalidFile' | 'noFeeds' | 'failed';

/** Waits for a later task of the event loop. The browser can render in between. */
const waitForTask = () => new Promise<void>((resolve) => setTimeout(resolve));

/** Returns the feeds of an OPML file in its order, or a problem. Counts duplicates as skipped. */
export async function readOpmlFile(file: File): Promise<Opml | FileProblem> {
  const opmlLibrary = await import('#opml').catch(() => undefined);
  if (!opmlLibrary) return 'failed';
  const { maxOpmlBytes, OpmlError, OpmlLimitError, readOpml } = opmlLibrary;
  if (file.size > maxOpmlBytes) return 'tooLarge';
  try {
    const opml = await readOpml(new Uint8Array(await file.arrayBuffer()), waitForTask);
    const feeds = [...new Map(opml.feeds.map((feed) => [feed.feedUrl, feed])).values()];
    const skipped = opml.skipped + opml.feeds.length - feeds.length;
    return feeds.length > 0 ? { feeds, skipped } : 'noFeeds';
  } catch (error) {
    if (error instanceof OpmlLimitError) return 'tooLarge';
    return error instanceof OpmlError ? 'invalidFile' : 'failed';
  }
}
