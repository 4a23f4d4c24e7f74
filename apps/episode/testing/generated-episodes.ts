import fc from 'fast-check';
import { episodeStatuses, type Status, statusNames, unknownMetadata } from '#contracts';
import { metadata } from './episode-set.fixture.js';

const time = fc
  .tuple(fc.integer({ min: 0, max: 2 }), fc.integer({ min: 0, max: 3 }))
  .map(([minute, second]) => `2026-01-01T12:0${minute}:0${second}.00000${second}Z`);
const statusOf = (value: fc.Arbitrary<Status['value']>) =>
  fc
    .record({ value, at: time, minuteForm: fc.boolean() }, { noNullPrototype: true })
    .map((status) =>
      status.minuteForm ? { ...status, at: `${status.at.slice(0, 16)}:00.000000Z` } : status,
    );
/** A status with a number. Times are within three minutes and four seconds, in both forms. */
export const seconds = statusOf(fc.constantFrom(0, 1.5));
const statuses = fc.record(
  Object.fromEntries(
    statusNames.map((name) => [
      name,
      episodeStatuses[name].columnType === 'boolean' ? statusOf(fc.boolean()) : seconds,
    ]),
  ),
  { requiredKeys: [], noNullPrototype: true },
);
/**
 * An episode with few different texts and times, so that many are equal. The number 0 stands for an
 * unknown value. Only an episode with a guid can have no enclosure_url.
 */
export const description = fc
  .record({
    guid: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 6 })),
    title: fc.nat(2),
    date: fc.nat(3),
    enclosure: fc.nat(3),
    isNormal: fc.boolean(),
    url: fc.nat(3),
    duration: fc.constantFrom(null, 90, 90.5),
    statuses,
  })
  .map(({ guid, title, date, enclosure, isNormal, url, ...rest }) => ({
    episodeGuid: guid === 0 ? '' : `guid ${guid}\n`,
    title: title === 0 ? '' : `Title ${title}`,
    publishDate: date === 0 ? unknownMetadata.publishDate : metadata(date).publishDate,
    enclosureUrl:
      enclosure === 0 && guid !== 0
        ? ''
        : metadata(enclosure).enclosureUrl.replace('media', isNormal ? 'media' : 'MEDIA'),
    episodeUrl: url === 0 ? '' : metadata(url).episodeUrl,
    ...rest,
  }));
/** Up to 6 episodes of one subscription. As in the table, no two have the same guid. */
export const feed = fc
  .array(description, { maxLength: 6 })
  .map((episodes) =>
    episodes.filter(
      ({ episodeGuid }, index) =>
        episodeGuid === '' ||
        episodes.findIndex((other) => other.episodeGuid === episodeGuid) === index,
    ),
  );
