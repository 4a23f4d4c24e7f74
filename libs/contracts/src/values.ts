import { z } from 'zod';
import { textLimits } from './limits.js';

/** A UUID of any version in any case, printed in lower case (docs/reference/interface.md, "Guids"). */
export const guidSchema = z.guid().transform((guid) => guid.toLowerCase());

/**
 * A title as it is kept (docs/reference/interface.md, "Texts"): control characters and lone surrogates become spaces, white space
 * around it is cut off, and it ends at a whole character within its limit. A kept title is kept unchanged.
 */
export function keptTitle(sent: string): string {
  const title = sent.replace(/[\p{Cc}\p{Surrogate}]/gu, ' ').trim();
  if (Buffer.byteLength(title) <= textLimits.title) return title;
  // encodeInto writes as many whole characters as the buffer has room for.
  const { read } = new TextEncoder().encodeInto(title, new Uint8Array(textLimits.title));
  return title.slice(0, read).trimEnd();
}

/** A point in time as a client wrote it. */
export interface ClientTime {
  /** UTC with microseconds, `2023-02-23T14:00:00.000000Z`: times of this form compare as texts. */
  instant: string;
  /** Whether it was given to the minute only, without a zone. */
  minuteForm: boolean;
}

const minuteForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d$/;
/** RFC 3339, section 5.6; a `+` may have become a space on its way through a query string. */
const rfc3339 = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.(\d+))?(?:[Zz]|([+\- ])(\d\d):(\d\d))$/;

/** Reads an RFC 3339 date-time with any offset and fraction (cut to microseconds); `undefined` when it is none. */
export function parseTime(text: string): ClientTime | undefined {
  const match = rfc3339.exec(text);
  if (!match) return undefined;
  const [, fraction = '', sign, offsetHour = '00', offsetMinute = '00'] = match;
  const second = digits(text, 17);
  if (Number(offsetHour) > 23 || Number(offsetMinute) > 59 || second > 60 || !exists(text)) return undefined;
  const offset = (Number(offsetHour) * 60 + Number(offsetMinute)) * (sign === '-' ? -60_000 : 60_000);
  const isUtc = offset === 0 && second < 60;
  const whole = isUtc ? `${text.slice(0, 10)}T${text.slice(11, 19)}` : inUtc(text, second, offset);
  if (whole === undefined || whole.startsWith('0000')) return undefined;
  return { instant: `${whole}.${fraction.slice(0, 6).padEnd(6, '0')}Z`, minuteForm: false };
}

/** Reads the time of a status: RFC 3339, or `YYYY-MM-DDThh:mm` with no zone, which means UTC. */
export function parseStatusTime(text: string): ClientTime | undefined {
  if (!minuteForm.test(text)) return parseTime(text);
  if (!exists(text) || text.startsWith('0000')) return undefined;
  return { instant: `${text}:00.000000Z`, minuteForm: true };
}

/** A client's clock may be ahead by this much: more is no drift, and would win against all that comes. */
const aheadLimitMs = 5 * 60 * 1_000;

/** A time of the server in the form of {@link ClientTime.instant}. */
export function instantOf(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 23)}000Z`;
}

/** The latest time that counts as it is in the request that asked last, as a request asks for each of its times. */
let latest = { arrivedMs: Number.NaN, instant: '' };

/**
 * A client's time as it counts (docs/reference/interface.md, "Times"): one more than 5 minutes ahead of the request's arrival is
 * `clamped` to that arrival.
 *
 * @param arrivedMs milliseconds since 1970.
 */
export function countedTime(instant: string, arrivedMs: number): { at: string; clamped: boolean } {
  if (arrivedMs !== latest.arrivedMs) latest = { arrivedMs, instant: instantOf(arrivedMs + aheadLimitMs) };
  const clamped = instant > latest.instant;
  return { at: clamped ? instantOf(arrivedMs) : instant, clamped };
}

/**
 * Whether what stands is newer than a change of `is_subscribed` (docs/reference/interface.md, "Subscription timestamps"). Of equal
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

/** The two digits at a place of a time that is written as RFC 3339 does. */
function digits(text: string, at: number): number {
  return text.charCodeAt(at) * 10 + text.charCodeAt(at + 1) - 11 * 48;
}

/** Whether there are the date and the minute of such a time. By hand, as an upload has a hundred of them. */
function exists(text: string): boolean {
  const [month, day] = [digits(text, 5), digits(text, 8)];
  const days = daysOf(digits(text, 0) * 100 + digits(text, 2), month);
  return day >= 1 && day <= days && digits(text, 11) <= 23 && digits(text, 14) <= 59;
}

/** The days of a month; none of one that there is not. */
function daysOf(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return [0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month] ?? 0;
}

/**
 * A time with an offset, in milliseconds, as one of UTC in seconds, without its zone; a leap second is the second after
 * it. `undefined` before the year 0 and after 9999: all that four digits can hold.
 */
function inUtc(text: string, second: number, offset: number): string | undefined {
  const minute = Date.parse(`${text.slice(0, 10)}T${text.slice(11, 16)}:00Z`);
  const iso = new Date(minute + second * 1_000 - offset).toISOString();
  return /^\d{4}-/.test(iso) ? iso.slice(0, 19) : undefined;
}
