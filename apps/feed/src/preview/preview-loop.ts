import type { FeedPreview } from '#contracts';
import { FetchError, type FetchedResponse, type Fetcher } from '#fetch';
import { readPicture } from '../artwork/artwork-loop.js';
import type { Thumbnailer } from '../artwork/thumbnailer.js';
import { FeedReader } from '../document/feed-reader.js';
import { type LoopOptions, WorkLoop } from '../work-loop.js';
import { alternatesOf } from './feed-links.js';
import { appleIdOf, readLookup } from './apple-links.js';
import type { PreviewRepository, PreviewRequest } from './preview.repository.js';

/** Maximum bytes that are read of a document. Usually they contain all fields of the feed. */
const maxDocumentBytes = 2 ** 20;

/** Options of a {@link PreviewLoop}. */
export interface PreviewLoopOptions extends LoopOptions {
  readonly repository: PreviewRepository;
  /** A fetcher with short time limits, because a person waits for the preview. */
  readonly fetcher: Fetcher;
  readonly thumbnailer: Thumbnailer;
  /**
   * Base URL of Apple's lookup API, which finds the feed of a link to Apple Podcasts. Default:
   * `https://itunes.apple.com`.
   */
  readonly appleUrl?: string;
}

/**
 * Fetches feeds for previews, which users see before they subscribe. Every preview is a new fetch,
 * even of a stored feed. Otherwise the response time would reveal whether another user follows the
 * feed.
 */
export class PreviewLoop extends WorkLoop<PreviewRequest, PreviewLoopOptions> {
  constructor(options: PreviewLoopOptions) {
    super(options, { kind: 'previews', concurrency: 4, pauseAfterFaultMs: 500 });
  }

  /** Claims the oldest request for a preview. */
  protected override async claim(): Promise<PreviewRequest[]> {
    const request = await this.options.repository.claimRequest();
    return request ? [request] : [];
  }

  protected override async run({ id, url }: PreviewRequest): Promise<void> {
    const { repository, log } = this.options;
    const preview = await this.fetchPreview(url).catch((error: unknown): FeedPreview => {
      const isRefused = error instanceof FetchError && error.fault === 'refused';
      if (!(error instanceof FetchError) && !this.stopped.signal.aborted)
        log.error(
          { stack: (error as Error).stack },
          'feed preview failed: internal error; the user sees no preview',
        );
      return { status: isRefused ? 'refused' : 'failed' };
    });
    await repository.storeAnswer(id, preview);
  }

  private async fetchPreview(url: string): Promise<FeedPreview> {
    const { fetcher, thumbnailer, appleUrl = 'https://itunes.apple.com' } = this.options;
    const { signal } = this.stopped;
    const appleId = appleIdOf(url);
    if (appleId !== undefined)
      return fetcher.fetch({ url: `${appleUrl}/lookup?id=${appleId}` }, readLookup, signal);
    const headers = { accept: 'application/rss+xml, application/xml, text/html;q=0.5, */*;q=0.1' };
    const { imageUrl, ...preview } = await fetcher.fetch({ url, headers }, readDocument, signal);
    if (imageUrl === undefined) return preview;
    const picture = await fetcher.fetch({ url: imageUrl }, readPicture, signal).catch(() => {});
    const thumbnail = picture && (await thumbnailer.createThumbnail(picture));
    if (!thumbnail) return preview;
    const base64 = Buffer.from(thumbnail).toString('base64');
    return { ...preview, picture: `data:image/webp;base64,${base64}` };
  }
}

/** Returns the preview of a document, and the URL of the feed's picture. @throws FetchError. */
async function readDocument(
  response: FetchedResponse,
): Promise<FeedPreview & { imageUrl?: string | undefined }> {
  if (response.status !== 200) return { status: 'failed' };
  const reader = new FeedReader(response.header('content-type'));
  const readChunks: Uint8Array[] = [];
  let readBytes = 0;
  for await (const chunk of response.body) {
    reader.write(chunk);
    readChunks.push(chunk);
    readBytes += chunk.length;
    if (readBytes > maxDocumentBytes) break;
  }
  const document = reader.end(false);
  if (!document) {
    const html = Buffer.concat(readChunks).toString();
    return { status: 'not_a_feed', alternates: alternatesOf(html, response.url) };
  }
  const { title, author, description, link, imageUrl } = document;
  return { status: 'ok', title, author, description, link, imageUrl };
}
