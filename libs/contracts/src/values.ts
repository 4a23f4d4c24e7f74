import { z } from 'zod';
import { textLimits } from './limits.js';

/** A UUID of any version in any case, printed in lower case (docs/interface.md, "Times"). */
export const guidSchema = z.guid().transform((guid) => guid.toLowerCase());

/** Why Postgres or JSON could not take a text, in words for the client; `undefined` when they can. */
export function faultInText(text: string, limit: number): string | undefined {
  if (Buffer.byteLength(text) > limit) return `is longer than ${limit} bytes`;
  if (text.includes('\0')) return 'contains a NUL character';
  if (/\p{Surrogate}/u.test(text)) return 'is not valid Unicode';
  return undefined;
}

/**
 * A title as it is kept (docs/interface.md, "Texts"): control characters and lone surrogates become spaces, white space
 * around it is cut off, and it ends at a whole character within its limit. A kept title is kept unchanged.
 */
export function keptTitle(sent: string): string {
  const title = sent.replace(/[\p{Cc}\p{Surrogate}]/gu, ' ').trim();
  if (Buffer.byteLength(title) <= textLimits.title) return title;
  // encodeInto writes as many whole characters as the buffer has room for.
  const { read } = new TextEncoder().encodeInto(title, new Uint8Array(textLimits.title));
  return title.slice(0, read).trimEnd();
}

/** A scheme and its colon. In `example.com:8080` there is none: digits after the colon are a port. */
const scheme = /^[a-z][a-z\d+.-]*:(?!\d)/i;

/** The message for a URL without a scheme, which the Open Podcast API has as an example. */
export const noProtocol = 'No protocol present';

/**
 * What is wrong with the URL of a feed, in words for the client (docs/interface.md, "Subscriptions"); `undefined` when
 * nothing is. It must be an absolute http or https URL with a host and without white space; it is stored as sent.
 */
export function faultInHttpUrl(url: string): string | undefined {
  return faultInUrl(url, /\s/);
}

/** The same for any other URL, which may contain spaces: real feeds have such URLs. */
export function faultInSpacedUrl(url: string): string | undefined {
  return faultInUrl(url);
}

function faultInUrl(url: string, refused?: RegExp): string | undefined {
  const fault = faultInText(url, textLimits.url);
  if (fault !== undefined) return `The URL ${fault}`;
  if (/\p{Cc}/u.test(url)) return 'The URL contains a control character';
  if (refused?.test(url)) return 'The URL contains white space';
  if (!scheme.test(url)) return noProtocol;
  if (!/^https?:/i.test(url)) return 'The URL is neither http nor https';
  if (!/^https?:\/\/[^/\\?#]/i.test(url) || !URL.canParse(url)) return 'The URL has no valid host';
  return undefined;
}

/** A point in time as a client wrote it. */
export interface ClientTime {
  /** UTC with microseconds, `2023-02-23T14:00:00.000000Z`: times of this form compare as texts. */
  instant: string;
  /** Whether it was given to the minute only, without a zone. */
  minuteForm: boolean;
}

const minuteForm = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d)$/;
/** RFC 3339, section 5.6; a `+` may have become a space on its way through a query string. */
const rfc3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+\- ])(\d\d):(\d\d))$/;

/** Reads an RFC 3339 date-time with any offset and fraction (cut to microseconds); `undefined` when it is none. */
export function parseTime(text: string): ClientTime | undefined {
  const match = rfc3339.exec(text);
  if (!match) return undefined;
  const [, year, month, day, hour, minute, second, fraction = '', sign, offsetHour, offsetMinute] = match;
  if (Number(offsetHour ?? 0) > 23 || Number(offsetMinute ?? 0) > 59) return undefined;
  const offset = (Number(offsetHour ?? 0) * 60 + Number(offsetMinute ?? 0)) * (sign === '-' ? -60_000 : 60_000);
  const whole = utc(year, month, day, hour, minute, second);
  if (whole === undefined) return undefined;
  const iso = inRange(whole - offset);
  return iso === undefined
    ? undefined
    : { instant: `${iso.slice(0, 19)}.${fraction.slice(0, 6).padEnd(6, '0')}Z`, minuteForm: false };
}

/** Reads the time of a status: RFC 3339, or `YYYY-MM-DDThh:mm` with no zone, which means UTC. */
export function parseStatusTime(text: string): ClientTime | undefined {
  const match = minuteForm.exec(text);
  if (!match) return parseTime(text);
  const [, year, month, day, hour, minute] = match;
  const whole = utc(year, month, day, hour, minute, '00');
  const iso = whole === undefined ? undefined : inRange(whole);
  return iso === undefined ? undefined : { instant: `${iso.slice(0, 19)}.000000Z`, minuteForm: true };
}

/** A client's clock may be ahead by this much: more is no drift, and would win against all that comes. */
const aheadLimitMs = 5 * 60 * 1_000;

/** A time of the server in the form of {@link ClientTime.instant}. */
export function instantOf(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 23)}000Z`;
}

/**
 * A client's time as it counts (docs/interface.md, "Times"): one more than 5 minutes ahead of the request's arrival is
 * `clamped` to that arrival.
 *
 * @param arrivedMs milliseconds since 1970.
 */
export function countedTime(instant: string, arrivedMs: number): { at: string; clamped: boolean } {
  const clamped = instant > instantOf(arrivedMs + aheadLimitMs);
  return { at: clamped ? instantOf(arrivedMs) : instant, clamped };
}

/**
 * Whether what stands is newer than a change of `is_subscribed` (docs/interface.md, "Subscribing is a register"). Of equal
 * times subscribed wins; a change without a time is of now, and newer than all that stands.
 *
 * @param standing whether it is subscribed and no DELETE says otherwise, and since when.
 */
export function isSuperseded(
  standing: { isSubscribed: boolean; subscribedAt: string },
  isSubscribed: boolean,
  at: string | undefined,
): boolean {
  if (at === undefined || at > standing.subscribedAt) return false;
  return at < standing.subscribedAt || (standing.isSubscribed && !isSubscribed);
}

/** A time cut to milliseconds, as stamps are written. */
export function toStamp(time: ClientTime): string {
  return `${time.instant.slice(0, 23)}Z`;
}

/** Milliseconds since 1970 of a date that exists; a leap second counts as the second after it. */
function utc(...parts: (string | undefined)[]): number | undefined {
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts.map(Number);
  if (hour > 23 || minute > 59 || second > 60) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined;
  return date.setUTCHours(hour, minute, second);
}

/** The ISO form of a time in the years 1 to 9999: all that four digits and Postgres both can hold. */
function inRange(milliseconds: number): string | undefined {
  const iso = new Date(milliseconds).toISOString();
  return /^\d{4}-/.test(iso) && !iso.startsWith('0000') ? iso : undefined;
}
