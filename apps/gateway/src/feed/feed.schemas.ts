import {
  faultInHttpUrl,
  feedEpisodeSchema,
  guidSchema,
  isPlainText,
  maxRefreshed,
  podcastSchema,
} from '#contracts';
import { z } from 'zod';
import { unvalidated } from '../wire.schemas.js';

export const podcastPageSchema = z
  .object({
    per_page: z.int().min(1),
    next: z.string().meta({ format: 'uri' }).optional(),
    feeds: z.array(podcastSchema),
  })
  .meta({ id: 'PodcastPage' });

export const feedEpisodesSchema = z
  .object({
    next: z.string().meta({ format: 'uri' }).optional(),
    episodes: z.array(feedEpisodeSchema),
  })
  .meta({ id: 'FeedEpisodes' });

/** Schema of a valid entry, for the API description only. The service validates the entries. */
const pushEntrySchema = podcastSchema
  .pick({ title: true, author: true, description: true, link: true, language: true })
  .extend({
    feed_url: z.string().describe('Absolute http or https URL.'),
    image_url: z.string().optional(),
    artwork_url: z
      .string()
      .optional()
      .describe('A picture that the platform serves to all listeners.'),
    guid: z.guid().optional().describe('The guid that the feed declares.'),
    new_feed_url: z.string().optional().describe('The URL that the feed has moved to.'),
    episodes: z
      .array(feedEpisodeSchema.omit({ podcast_guid: true }))
      .max(100)
      .optional(),
  });

export const pushSchema = z
  .object({ feeds: z.array(unvalidated(z.toJSONSchema(pushEntrySchema))) })
  .meta({ id: 'PushRequest' });
export type PushRequest = z.output<typeof pushSchema>;

export const previewSchema = z
  .object({
    feed_url: z.string().refine((url) => faultInHttpUrl(url) === undefined),
  })
  .meta({ id: 'PreviewRequest' });

/** Maximum bytes of a password, because RSA-OAEP encrypts only one short block. */
const maxPasswordBytes = 256;

export const importRequestSchema = z
  .object({
    source: z.string().transform(parseSource).describe('Address of the other server.'),
    login: z
      .string()
      .min(1)
      .max(255)
      .refine(isPlainText)
      .describe('Name of the account there, without control characters.'),
    password: z
      .string()
      .min(1)
      .refine((password) => Buffer.byteLength(password) <= maxPasswordBytes),
  })
  .meta({ id: 'ImportRequest' });

/** Returns the base URL of another server, with a trailing `/` and without query. */
function parseSource(text: string, context: z.RefinementCtx): string {
  if (faultInHttpUrl(text) === undefined) {
    const url = new URL(text);
    // Rejects a URL with a password, because answers contain the URL.
    if (url.username === '' && url.password === '')
      return url.origin + url.pathname.replace(/\/?$/, '/');
  }
  context.addIssue({ code: 'custom', message: 'not the address of a server' });
  return z.NEVER;
}

export const refreshSchema = z
  .object({ guids: z.array(guidSchema).max(maxRefreshed) })
  .meta({ id: 'RefreshRequest' });
