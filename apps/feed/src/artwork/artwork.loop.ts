import { setTimeout as delay } from 'node:timers/promises';
import type { OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import { FetchError, type FetchedResponse, type Fetcher } from '#fetch';
import { Condition, type Log, oneCounter } from '#runtime';
import type { DueWork } from '../due.work.js';
import type { ImageRepository } from './image.repository.js';
import type { Thumbnailer } from './thumbnailer.js';

/** Pause after a fault of Postgres, in milliseconds. */
const faultMs = 5_000;
/** Number of pictures that are fetched at the same time. */
const batch = 8;
/** Maximum size of a picture in bytes. */
const mostBytes = 8 * 2 ** 20;

const images = oneCounter('podcast_sync_feed_images_total', 'Fetches of pictures, by outcome.', [
  'outcome',
]);

/** Options of an {@link ArtworkLoop}. */
export interface ArtworkLoopOptions {
  readonly repository: ImageRepository;
  readonly work: DueWork;
  readonly fetcher: Fetcher;
  readonly thumbnailer: Thumbnailer;
  readonly log: Log;
}

/**
 * Fetches the pictures of feeds and stores their thumbnails. Claiming a picture postpones its next
 * fetch, so that it is due again after a backoff if the fetch fails or the process dies.
 */
export class ArtworkLoop implements OnModuleInit, OnApplicationShutdown {
  private readonly stopped = new AbortController();
  /** The error message of the current outage of Postgres; empty without an outage. */
  private readonly outage = new Condition<string>('');
  private ended: Promise<unknown> = Promise.resolve();

  constructor(private readonly options: ArtworkLoopOptions) {}

  onModuleInit(): void {
    this.ended = this.runAll();
  }

  /** Aborts the running fetches and ends the thumbnail process. */
  async onApplicationShutdown(): Promise<void> {
    this.stopped.abort();
    this.options.thumbnailer.close();
    await this.ended;
  }

  /** Fetches up to eight pictures that are due. Returns their number. */
  async runDue(): Promise<number> {
    const due = await this.options.repository.claim(batch);
    await Promise.all(due.map(({ key, source }) => this.store(key, source)));
    return due.length;
  }

  private async runAll(): Promise<void> {
    const { signal } = this.stopped;
    while (!signal.aborted) {
      try {
        const isIdle = (await this.runDue()) === 0;
        if (this.outage.becomes('')) this.options.log.info('feed artwork loop available again');
        if (isIdle) await this.options.work.wait('images', signal);
      } catch (error) {
        if (this.outage.becomes((error as Error).message) && !signal.aborted)
          this.options.log.warn(
            { err: error },
            'feed artwork loop unavailable, retrying: pictures are not fetched',
          );
        await this.pause(faultMs);
      }
    }
  }

  private async store(key: Buffer, source: string): Promise<void> {
    const { repository, fetcher, thumbnailer } = this.options;
    const { signal } = this.stopped;
    let outcome = 'stored';
    try {
      const bytes = await fetcher.fetch(
        { url: source, headers: { accept: 'image/webp, image/png, image/jpeg' } },
        readPicture,
        signal,
      );
      const thumbnail = await thumbnailer.thumbnailOf(bytes);
      if (thumbnail) await repository.store(key, source, thumbnail);
      else outcome = 'not_a_picture';
    } catch (error) {
      if (!(error instanceof FetchError)) throw error;
      outcome = error.fault;
    }
    images.inc({ outcome });
  }

  private async pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.stopped.signal }).catch(() => undefined);
  }
}

/** Returns the body of a 200 response, empty for another status. @throws FetchError. */
export async function readPicture({ status, body }: FetchedResponse): Promise<Uint8Array> {
  if (status !== 200) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > mostBytes) throw new FetchError('too_large', 'the picture is larger than 8 MiB');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
