import { z } from 'zod';

/** A UUID of any version in any case, printed in lower case. */
export const guidSchema = z.guid().transform((guid) => guid.toLowerCase());

/** What is wrong with a text as Postgres and JSON see it, in words for the client; `undefined` when nothing is. */
export function faultInText(text: string, limit: number): string | undefined {
  if (text.includes('\0')) return 'contains a NUL character';
  if (/\p{Surrogate}/u.test(text)) return 'is not valid Unicode';
  if (text.length > limit && Array.from(text).length > limit) return `is longer than ${limit} characters`;
  return undefined;
}

/** URLs are kept up to this many characters. */
const urlLimit = 4_096;

/** A scheme and its colon; a port after a bare host (`example.com:8080`) is none. */
const scheme = /^[a-z][a-z\d+.-]*:(?!\d)/i;

/** The message of the interface for a URL without a scheme (POST /subscriptions). */
export const noProtocol = 'No protocol present';

/**
 * What is wrong with a URL that must be an absolute http or https URL with a host, in words for the client;
 * `undefined` when nothing is. The URL itself is kept as it was sent.
 */
export function faultInHttpUrl(url: string): string | undefined {
  const fault = faultInText(url, urlLimit);
  if (fault !== undefined) return `The URL ${fault}`;
  if (/\s/.test(url)) return 'The URL contains white space';
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

/** The ISO form of a time in the years 1 to 9999, which is what both four digits and Postgres can hold. */
function inRange(milliseconds: number): string | undefined {
  const iso = new Date(milliseconds).toISOString();
  return /^\d{4}-/.test(iso) && !iso.startsWith('0000') ? iso : undefined;
}
