import { FetchError, type FetchedResponse, type Fetcher } from '#fetch';
import { oneCounter } from '#runtime';
import { type LoopOptions, WorkLoop } from '../work-loop.js';
import type { DueImage, ImageRepository } from './image.repository.js';
import type { Thumbnailer } from './thumbnailer.js';

/** Maximum size of a picture in bytes. The fetch of a larger picture fails. */
const maxPictureBytes = 8 * 2 ** 20;

const pictureFetches = oneCounter(
  'podcast_sync_feed_images_total',
  'Fetches of pictures, by outcome.',
  ['outcome'],
);

/** Options of an {@link ArtworkLoop}. */
export interface ArtworkLoopOptions extends LoopOptions {
  readonly repository: ImageRepository;
  readonly fetcher: Fetcher;
  readonly thumbnailer: Thumbnailer;
}

/**
 * Fetches the pictures of feeds and stores their thumbnails. The claim of a picture postpones its
 * next fetch. The picture is due again after that delay if its fetch fails or the process dies.
 */
export class ArtworkLoop extends WorkLoop<DueImage, ArtworkLoopOptions> {
  constructor(options: ArtworkLoopOptions) {
    super(options, {
      kind: 'images',
      concurrency: 8,
      pauseAfterFaultMs: 5_000,
      messages: {
        failed: 'feed artwork loop failed, retrying: pictures are not fetched',
        recovered: 'feed artwork loop works again',
      },
    });
  }

  /** Aborts the running fetches and ends the thumbnail process. */
  override async onApplicationShutdown(): Promise<void> {
    const loopEnd = super.onApplicationShutdown();
    this.options.thumbnailer.close();
    await loopEnd;
  }

  protected override claim(limit: number): Promise<DueImage[]> {
    return this.options.repository.claimPictures(limit);
  }

  protected override async run({ key, source }: DueImage): Promise<void> {
    const { repository, fetcher, thumbnailer } = this.options;
    const { signal } = this.stopped;
    let outcome = 'stored';
    try {
      const picture = await fetcher.fetch(
        { url: source, headers: { accept: 'image/webp, image/png, image/jpeg' } },
        readPicture,
        signal,
      );
      const thumbnail = await thumbnailer.createThumbnail(picture);
      if (thumbnail) await repository.storeThumbnail(key, source, thumbnail);
      else outcome = 'not_a_picture';
    } catch (error) {
      if (!(error instanceof FetchError)) throw error;
      outcome = error.fault;
    }
    pictureFetches.inc({ outcome });
  }
}

/**
 * Returns the body of a response with status 200, and no bytes for another status.
 *
 * @throws FetchError `too_large` for a body of more than 8 MiB.
 */
export async function readPicture({ status, body }: FetchedResponse): Promise<Uint8Array> {
  if (status !== 200) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let receivedBytes = 0;
  for await (const chunk of body) {
    receivedBytes += chunk.length;
    if (receivedBytes > maxPictureBytes)
      throw new FetchError('too_large', 'the picture is larger than 8 MiB');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
