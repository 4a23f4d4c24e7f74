/** Elements with fields: the feed, an episode, the feed's picture (RSS) and author (Atom). */
export type Scope = 'feed' | 'item' | 'image' | 'author';

/** Fields of a feed or an item. Several elements can fill one; {@link Field.rank} decides. */
export type FieldName =
  | 'title'
  | 'author'
  | 'description'
  | 'link'
  | 'language'
  | 'image'
  | 'guid'
  | 'newFeedUrl'
  | 'block'
  | 'complete'
  | 'ttl'
  | 'date'
  | 'enclosure'
  | 'duration';

/** A field that an element or an attribute fills. */
export interface Field {
  readonly name: FieldName;
  /** The lowest rank with a text wins; of equal ranks the first. */
  readonly rank: number;
}

const field = (name: FieldName, rank = 0): Field => ({ name, rank });

/** Fields by scope and child element: RSS 2.0, RSS 1.0, Atom (RFC 4287) and their extensions. */
export const textFields: Readonly<Record<Scope, ReadonlyMap<string, Field>>> = {
  feed: new Map([
    ['title', field('title')],
    ['itunes:author', field('author')],
    ['dc:creator', field('author', 1)],
    ['managingeditor', field('author', 2)],
    ['description', field('description')],
    ['subtitle', field('description', 1)],
    ['itunes:summary', field('description', 2)],
    ['itunes:subtitle', field('description', 3)],
    ['link', field('link')],
    ['language', field('language')],
    ['dc:language', field('language', 1)],
    ['logo', field('image', 2)],
    ['podcast:guid', field('guid')],
    ['itunes:new-feed-url', field('newFeedUrl')],
    ['itunes:block', field('block')],
    ['itunes:complete', field('complete')],
    ['ttl', field('ttl')],
  ]),
  item: new Map([
    ['title', field('title')],
    ['itunes:title', field('title', 1)],
    ['guid', field('guid')],
    ['id', field('guid', 1)],
    ['pubdate', field('date')],
    ['published', field('date')],
    ['dc:date', field('date', 1)],
    ['updated', field('date', 2)],
    ['link', field('link')],
    ['itunes:duration', field('duration')],
  ]),
  image: new Map([['url', field('image', 1)]]),
  author: new Map([['name', field('author', 1)]]),
};

/** Fields by element and attribute. Atom links are in {@link linkFields}. */
export const attributeFields: ReadonlyMap<string, { attribute: string; field: Field }> = new Map([
  ['itunes:image', { attribute: 'href', field: field('image') }],
  ['enclosure', { attribute: 'url', field: field('enclosure') }],
]);

/** Fields of Atom links by `rel`. A link without `rel` is an alternate (RFC 4287, 4.2.7.2). */
export const linkFields: ReadonlyMap<string, Field> = new Map([
  ['', field('link', 1)],
  ['alternate', field('link', 1)],
  ['enclosure', field('enclosure', 1)],
]);

/**
 * Elements that only have attributes. Publishers forget to close them, so they contain nothing:
 * the next element belongs to their parent.
 */
export const emptyElements: ReadonlySet<string> = new Set([
  ...attributeFields.keys(),
  'atom:link',
  'podcast:transcript',
  'podcast:chapters',
]);

/** Usual prefixes by namespace, for documents that use other prefixes. */
export const usualPrefixes: ReadonlyMap<string, string> = new Map([
  ['http://www.itunes.com/dtds/podcast-1.0.dtd', 'itunes'],
  ['https://www.itunes.com/dtds/podcast-1.0.dtd', 'itunes'],
  ['https://podcastindex.org/namespace/1.0', 'podcast'],
  ['https://github.com/podcastindex-org/podcast-namespace/blob/main/docs/1.0.md', 'podcast'],
  ['http://www.w3.org/2005/atom', 'atom'],
  ['http://purl.org/dc/elements/1.1/', 'dc'],
]);
