/** Elements whose children are fields: feed, episode, the feed's picture (RSS), author (Atom). */
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
  /** If several elements fill the field, the lowest rank wins; among equals, the first element. */
  readonly rank: number;
}

const fieldOf = (name: FieldName, rank = 0): Field => ({ name, rank });

/**
 * Maps a child element, by its scope, to the field that its text fills: RSS 2.0, RSS 1.0, Atom (RFC
 * 4287) and their extensions.
 */
export const textFields: Readonly<Record<Scope, ReadonlyMap<string, Field>>> = {
  feed: new Map([
    ['title', fieldOf('title')],
    ['itunes:author', fieldOf('author')],
    ['dc:creator', fieldOf('author', 1)],
    ['managingeditor', fieldOf('author', 2)],
    ['description', fieldOf('description')],
    ['subtitle', fieldOf('description', 1)],
    ['itunes:summary', fieldOf('description', 2)],
    ['itunes:subtitle', fieldOf('description', 3)],
    ['link', fieldOf('link')],
    ['language', fieldOf('language')],
    ['dc:language', fieldOf('language', 1)],
    ['logo', fieldOf('image', 2)],
    ['podcast:guid', fieldOf('guid')],
    ['itunes:new-feed-url', fieldOf('newFeedUrl')],
    ['itunes:block', fieldOf('block')],
    ['itunes:complete', fieldOf('complete')],
    ['ttl', fieldOf('ttl')],
  ]),
  item: new Map([
    ['title', fieldOf('title')],
    ['itunes:title', fieldOf('title', 1)],
    ['guid', fieldOf('guid')],
    ['id', fieldOf('guid', 1)],
    ['pubdate', fieldOf('date')],
    ['published', fieldOf('date')],
    ['dc:date', fieldOf('date', 1)],
    ['updated', fieldOf('date', 2)],
    ['link', fieldOf('link')],
    ['itunes:duration', fieldOf('duration')],
  ]),
  image: new Map([['url', fieldOf('image', 1)]]),
  author: new Map([['name', fieldOf('author', 1)]]),
};

/** Fields that an attribute of an element fills. Links of Atom are in {@link linkFields}. */
export const attributeFields: ReadonlyMap<string, { attribute: string; field: Field }> = new Map([
  ['itunes:image', { attribute: 'href', field: fieldOf('image') }],
  ['enclosure', { attribute: 'url', field: fieldOf('enclosure') }],
]);

/** Fields of Atom links by `rel`. A link without `rel` is an alternate (RFC 4287, 4.2.7.2). */
export const linkFields: ReadonlyMap<string, Field> = new Map([
  ['', fieldOf('link', 1)],
  ['alternate', fieldOf('link', 1)],
  ['enclosure', fieldOf('enclosure', 1)],
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
