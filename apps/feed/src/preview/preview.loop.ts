import type { OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import type { FeedPreview } from '#contracts';
import { FetchError, type FetchedResponse, type Fetcher } from '#fetch';
import type { Log } from '#runtime';
import { readPicture } from '../artwork/artwork.loop.js';
import type { Thumbnailer } from '../artwork/thumbnailer.js';
import { FeedReader } from '../document/feed.reader.js';
import type { DueWork } from '../due.work.js';
import { alternatesOf } from './alternates.js';
import { appleIdOf, readLookup } from './apple.links.js';
import type { PreviewRepository } from './preview.repository.js';

/** Number of previews at the same time. */
const batch = 4;
/** Maximum bytes of a document that are read: the fields of a feed precede its episodes. */
const mostBytes = 2 ** 20;

/** Options of a {@link PreviewLoop}. */
export interface PreviewLoopOptions {
  readonly repository: PreviewRepository;
  readonly work: DueWork;
  /** With short limits of time, because a person waits. */
  readonly fetcher: Fetcher;
  readonly thumbnailer: Thumbnailer;
  readonly log: Log;
  /** Apple's search API, which finds the feed of a link to Apple Podcasts. */
  readonly appleUrl?: string;
}

/**
 * Fetches feeds for previews, which users see before they subscribe. Every preview is a new fetch,
 * even of a stored feed. Otherwise the response time would reveal whether another user follows it.
 */
export class PreviewLoop implements OnModuleInit, OnApplicationShutdown {
  private readonly stopped = new AbortController();
  private readonly running = new Set<Promise<void>>();
  private ended: Promise<unknown> = Promise.resolve();

  constructor(private readonly options: PreviewLoopOptions) {}

  onModuleInit(): void {
    this.ended = this.runAll();
  }

  async onApplicationShutdown(): Promise<void> {
    this.stopped.abort();
    await this.ended;
    await Promise.all(this.running);
  }

  /** Starts the fetch for the oldest request. Returns false without one. */
  async startNext(): Promise<boolean> {
    const request = await this.options.repository.claim();
    if (!request) return false;
    const run = this.answer(request)
      // Postgres is unavailable or this process stops: the user gets no preview.
      .catch(() => undefined)
      .finally(() => this.running.delete(run));
    this.running.add(run);
    return true;
  }

  private async runAll(): Promise<void> {
    const { signal } = this.stopped;
    while (!signal.aborted) {
      const isFull = this.running.size >= batch;
      // FetchLoop logs outages of Postgres.
      const isBusy = !isFull && (await this.startNext().catch(() => false));
      if (!isBusy) await this.options.work.wait('previews', signal);
    }
  }

  private async answer({ id, url }: { id: string; url: string }): Promise<void> {
    const { repository, log } = this.options;
    const preview = await this.previewOf(url).catch((error: unknown): FeedPreview => {
      const isRefused = error instanceof FetchError && error.fault === 'refused';
      if (!(error instanceof FetchError) && !this.stopped.signal.aborted)
        log.error({ stack: (error as Error).stack }, 'feed preview failed: internal error');
      return { status: isRefused ? 'refused' : 'failed' };
    });
    await repository.store(id, preview);
  }

  private async previewOf(url: string): Promise<FeedPreview> {
    const { fetcher, thumbnailer, appleUrl = 'https://itunes.apple.com' } = this.options;
    const { signal } = this.stopped;
    const appleId = appleIdOf(url);
    if (appleId !== undefined)
      return fetcher.fetch({ url: `${appleUrl}/lookup?id=${appleId}` }, readLookup, signal);
    const headers = { accept: 'application/rss+xml, application/xml, text/html;q=0.5, */*;q=0.1' };
    const { imageUrl, ...preview } = await fetcher.fetch({ url, headers }, readDocument, signal);
    if (imageUrl === undefined) return preview;
    const picture = await fetcher.fetch({ url: imageUrl }, readPicture, signal).catch(() => {});
    const thumbnail = picture && (await thumbnailer.thumbnailOf(picture));
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
  const start: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body) {
    reader.write(chunk);
    start.push(chunk);
    bytes += chunk.length;
    if (bytes > mostBytes) break;
  }
  const document = reader.end(false);
  if (!document) {
    const html = Buffer.concat(start).toString();
    return { status: 'not_a_feed', alternates: alternatesOf(html, response.url) };
  }
  const { title, author, description, link, imageUrl } = document;
  return { status: 'ok', title, author, description, link, imageUrl };
}
