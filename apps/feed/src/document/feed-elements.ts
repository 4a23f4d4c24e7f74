/** Elements whose children are fields: feed, episode, the feed's picture (RSS), author (Atom). */
export type Scope = 'feed' | 'item' | 'image' | 'author';

/** Fields of a feed or an item. Several elements can fill a field; see {@link Field.rank}. */
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

const createField = (name: FieldName, rank = 0): Field => ({ name, rank });

/**
 * Fields that the text of an element fills, by scope and name of the element. The names are those
 * of RSS 2.0, RSS 1.0, Atom (RFC 4287) and their extensions, in lower case.
 */
export const textFields: Readonly<Record<Scope, ReadonlyMap<string, Field>>> = {
  feed: new Map([
    ['title', createField('title')],
    ['itunes:author', createField('author')],
    ['dc:creator', createField('author', 1)],
    ['managingeditor', createField('author', 2)],
    ['description', createField('description')],
    ['subtitle', createField('description', 1)],
    ['itunes:summary', createField('description', 2)],
    ['itunes:subtitle', createField('description', 3)],
    ['link', createField('link')],
    ['language', createField('language')],
    ['dc:language', createField('language', 1)],
    ['logo', createField('image', 2)],
    ['podcast:guid', createField('guid')],
    ['itunes:new-feed-url', createField('newFeedUrl')],
    ['itunes:block', createField('block')],
    ['itunes:complete', createField('complete')],
    ['ttl', createField('ttl')],
  ]),
  item: new Map([
    ['title', createField('title')],
    ['itunes:title', createField('title', 1)],
    ['guid', createField('guid')],
    ['id', createField('guid', 1)],
    ['pubdate', createField('date')],
    ['published', createField('date')],
    ['dc:date', createField('date', 1)],
    ['updated', createField('date', 2)],
    ['link', createField('link')],
    ['itunes:duration', createField('duration')],
  ]),
  image: new Map([['url', createField('image', 1)]]),
  author: new Map([['name', createField('author', 1)]]),
};

/** Fields that an attribute of an element fills. Links of Atom are in {@link linkFields}. */
export const attributeFields: ReadonlyMap<string, { attribute: string; field: Field }> = new Map([
  ['itunes:image', { attribute: 'href', field: createField('image') }],
  ['enclosure', { attribute: 'url', field: createField('enclosure') }],
]);

/** Fields of Atom links by `rel`. A link without `rel` is an alternate (RFC 4287, 4.2.7.2). */
export const linkFields: ReadonlyMap<string, Field> = new Map([
  ['', createField('link', 1)],
  ['alternate', createField('link', 1)],
  ['enclosure', createField('enclosure', 1)],
]);

/**
 * Elements that have only attributes. Some publishers forget to close them. Therefore the element
 * after them counts as a child of their parent.
 */
export const emptyElements: ReadonlySet<string> = new Set([
  ...attributeFields.keys(),
  'atom:link',
  'podcast:transcript',
  'podcast:chapters',
]);

/** Usual prefixes by namespace in lower case, for documents that use other prefixes. */
export const usualPrefixes: ReadonlyMap<string, string> = new Map([
  ['http://www.itunes.com/dtds/podcast-1.0.dtd', 'itunes'],
  ['https://www.itunes.com/dtds/podcast-1.0.dtd', 'itunes'],
  ['https://podcastindex.org/namespace/1.0', 'podcast'],
  ['https://github.com/podcastindex-org/podcast-namespace/blob/main/docs/1.0.md', 'podcast'],
  ['http://www.w3.org/2005/atom', 'atom'],
  ['http://purl.org/dc/elements/1.1/', 'dc'],
]);
