import { expectTypeOf, test } from 'vitest';
import type * as client from '#client';
import type {
  documentedEntrySchema,
  EntryFailureCode,
  episodeSchema,
  feedEpisodeSchema,
  feedPreviewSchema,
  importedSchema,
  podcastSchema,
  subscribedSchema,
  subscriptionSchema,
  updatedSchema,
  uploadedSchema,
} from '#contracts';
import type { z } from 'zod';
import type { feedEpisodesSchema, podcastPageSchema } from './feed/feed.schemas.js';
import type {
  capabilitiesSchema,
  deletionAcceptedSchema,
  deletionSchema,
  episodePageSchema,
  subscriptionEntrySchema,
  subscriptionPageSchema,
  updateSchema,
} from './wire.schemas.js';

/** Merges an intersection into one object type, because the two do not compare as equal. */
type Plain<T> = T extends (infer Item)[]
  ? Plain<Item>[]
  : T extends object
    ? { [Name in keyof T]: Plain<T[Name]> }
    : T;

// Only tsc compares the types (npm run check); these lines do nothing at run time.
test("the SDK reads exactly the types of the server's answers", () => {
  expectTypeOf<client.Capabilities>().toEqualTypeOf<z.output<typeof capabilitiesSchema>>();
  expectTypeOf<client.Subscription>().toEqualTypeOf<z.output<typeof subscriptionSchema>>();
  expectTypeOf<client.SubscribeAnswer>().toEqualTypeOf<z.output<typeof subscribedSchema>>();
  expectTypeOf<Plain<client.ImportAnswer>>().toEqualTypeOf<
    Plain<z.output<typeof importedSchema>>
  >();
  expectTypeOf<client.UpdateAnswer>().toEqualTypeOf<z.output<typeof updatedSchema>>();
  expectTypeOf<client.DeletionAccepted['message']>().toEqualTypeOf<
    z.output<typeof deletionAcceptedSchema>['message']
  >();
  expectTypeOf<client.Deletion>().toEqualTypeOf<z.output<typeof deletionSchema>>();
  expectTypeOf<Plain<client.Episode>>().toEqualTypeOf<Plain<z.output<typeof episodeSchema>>>();
  expectTypeOf<Plain<client.UploadAnswer>>().toEqualTypeOf<
    Plain<z.output<typeof uploadedSchema>>
  >();
  expectTypeOf<client.Podcast>().toEqualTypeOf<z.output<typeof podcastSchema>>();
  expectTypeOf<client.FeedEpisode>().toEqualTypeOf<z.output<typeof feedEpisodeSchema>>();
  expectTypeOf<client.FeedPreview>().toEqualTypeOf<z.output<typeof feedPreviewSchema>>();
  expectTypeOf<client.EntryFailureCode>().toEqualTypeOf<EntryFailureCode>();
});

test('the SDK sends exactly the types that the server accepts, without null', () => {
  type Sent<T> = Plain<{ [Name in keyof T]: Exclude<T[Name], null> }>;
  expectTypeOf<client.SubscriptionEntry>().toEqualTypeOf<z.input<typeof subscriptionEntrySchema>>();
  expectTypeOf<client.SubscriptionPatch>().toEqualTypeOf<Sent<z.input<typeof updateSchema>>>();
  expectTypeOf<Plain<client.EpisodeEntry>>().toEqualTypeOf<
    Plain<z.output<typeof documentedEntrySchema>>
  >();
});

test('pages have the fields of answers and headers', () => {
  type Headers = { notModified: false; perPage: number; syncTimestamp: string; etag?: string };
  type Body<T extends { per_page: number }> = Plain<Omit<T, 'per_page'> & Headers>;
  expectTypeOf<Plain<client.SubscriptionPage>>().toEqualTypeOf<
    Body<z.output<typeof subscriptionPageSchema>>
  >();
  expectTypeOf<Plain<client.EpisodePage>>().toEqualTypeOf<
    Body<z.output<typeof episodePageSchema>>
  >();
  expectTypeOf<Plain<client.PodcastPage>>().toEqualTypeOf<
    Body<z.output<typeof podcastPageSchema>>
  >();
  expectTypeOf<Plain<client.NewEpisodePage>>().toEqualTypeOf<
    Plain<z.output<typeof feedEpisodesSchema> & Omit<Headers, 'perPage'>>
  >();
});
