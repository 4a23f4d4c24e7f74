import { z } from 'zod';
import { textLimits } from './limits.js';

/** Schema of a guid: a UUID, converted to lower case (docs/reference/interface.md, "Guids"). */
export const guidSchema = z.guid().transform((guid) => guid.toLowerCase());

/** Matches a character that a person can see. */
const visibleCharacter = /[^\p{Default_Ignorable_Code_Point}\p{C}\p{Z}]/u;

/**
 * Returns a title in the form that is stored (docs/reference/episodes.md, "Texts"): trimmed, with
 * spaces for control characters and lone surrogates, and cut after a whole character. A title
 * without a visible character becomes empty, so that lists show another name. Idempotent.
 */
export function storedTitle(sent: string): string {
  if (!visibleCharacter.test(sent)) return '';
  const title = sent.replace(/[\p{Cc}\p{Surrogate}]/gu, ' ').trim();
  if (Buffer.byteLength(title) <= textLimits.title) return title;
  // Cuts by `encodeInto`, which writes as many whole characters as fit into the buffer.
  const { read } = new TextEncoder().encodeInto(title, new Uint8Array(textLimits.title));
  return title.slice(0, read).trimEnd();
}

/**
 * Returns true for a text without control characters and lone surrogates. Postgres rejects NUL in
 * every text, and lone surrogates in `jsonb`.
 */
export function isPlainText(text: string): boolean {
  return !/[\p{Cc}\p{Surrogate}]/u.test(text);
}

/** A time that a client sent. */
export interface ClientTime {
  /** UTC with microseconds, `2023-02-23T14:00:00.000000Z`; comparable as text. */
  instant: string;
  /** True if the client sent `YYYY-MM-DDThh:mm`, without seconds and zone. */
  minuteForm: boolean;
}

/** A time to the minute, in UTC without a zone. */
const minuteFormPattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d$/;
/** RFC 3339, section 5.6; also with a space for `+`, into which a query string can turn it. */
const rfc3339Pattern =
  /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.(\d+))?(?:[Zz]|([+\- ])(\d\d):(\d\d))$/;

/** Parses an RFC 3339 date-time, cut to microseconds; `undefined` for an invalid one. */
export function parseTime(text: string): ClientTime | undefined {
  const match = rfc3339Pattern.exec(text);
  if (!match) return undefined;
  const [, fraction = '', sign, offsetHour = '00', offsetMinute = '00'] = match;
  const second = readTwoDigits(text, 17);
  if (Number(offsetHour) > 23 || Number(offsetMinute) > 59 || second > 60 || !isRealMinute(text))
    return undefined;
  const offsetMs =
    (Number(offsetHour) * 60 + Number(offsetMinute)) * (sign === '-' ? -60_000 : 60_000);
  const isUtc = offsetMs === 0 && second < 60;
  const utcSeconds = isUtc
    ? `${text.slice(0, 10)}T${text.slice(11, 19)}`
    : toUtc(text, second, offsetMs);
  if (utcSeconds === undefined || utcSeconds.startsWith('0000')) return undefined;
  return { instant: `${utcSeconds}.${fraction.slice(0, 6).padEnd(6, '0')}Z`, minuteForm: false };
}

/** Parses a status's time: RFC 3339, or `YYYY-MM-DDThh:mm` in UTC; `undefined` if invalid. */
export function parseStatusTime(text: string): ClientTime | undefined {
  if (!minuteFormPattern.test(text)) return parseTime(text);
  if (!isRealMinute(text) || text.startsWith('0000')) return undefined;
  return { instant: `${text}:00.000000Z`, minuteForm: true };
}

/** Maximum lead of a client's time in ms, because a future time wins until it has passed. */
const maxAheadMs = 5 * 60 * 1_000;

/** Converts milliseconds since 1970 to the form of {@link ClientTime.instant}. */
export function instantOf(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 23)}000Z`;
}

/** Latest accepted time for a request, cached because a request contains many times. */
let latestAccepted = { arrivedMs: Number.NaN, instant: '' };

/**
 * Returns the time of a client's change. Replaces a time more than 5 minutes after the
 * arrival of the request by the time of arrival; `clamped` is then true
 * (docs/reference/interface.md, "Times").
 *
 * @param arrivedMs milliseconds since 1970.
 */
export function clampedTime(instant: string, arrivedMs: number): { at: string; clamped: boolean } {
  if (arrivedMs !== latestAccepted.arrivedMs)
    latestAccepted = { arrivedMs, instant: instantOf(arrivedMs + maxAheadMs) };
  const clamped = instant > latestAccepted.instant;
  return { at: clamped ? instantOf(arrivedMs) : instant, clamped };
}

/**
 * Returns true if a change of `is_subscribed` has no effect, because the current value is newer
 * (docs/reference/subscriptions.md, "Subscription timestamps"). At equal times, subscribed wins. A
 * change without a time always takes effect.
 *
 * @param current current value and its time; the value of a tombstone is `false`.
 */
export function isSuperseded(
  current: { isSubscribed: boolean; subscribedAt: string },
  isSubscribed: boolean,
  at: string | undefined,
): boolean {
  if (at === undefined || at > current.subscribedAt) return false;
  return at < current.subscribedAt || (current.isSubscribed && !isSubscribed);
}

/** Returns a client's time in the form of a stamp, cut to milliseconds. */
export function toStamp(time: ClientTime): string {
  return `${time.instant.slice(0, 23)}Z`;
}

/** Returns the number that two digits at an index of a text represent. */
function readTwoDigits(text: string, index: number): number {
  return text.charCodeAt(index) * 10 + text.charCodeAt(index + 1) - 11 * 48;
}

/** Returns true if date and minute exist. Does not use `Date`, which is slow for many times. */
function isRealMinute(text: string): boolean {
  const [month, day] = [readTwoDigits(text, 5), readTwoDigits(text, 8)];
  const days = countDaysInMonth(readTwoDigits(text, 0) * 100 + readTwoDigits(text, 2), month);
  return day >= 1 && day <= days && readTwoDigits(text, 11) <= 23 && readTwoDigits(text, 14) <= 59;
}

/** Returns the number of days of a month; 0 for an invalid month. */
function countDaysInMonth(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return [0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month] ?? 0;
}

/**
 * Converts a time with an offset in ms to UTC, cut to seconds. A leap second becomes the next
 * second. Returns `undefined` outside the years 0 to 9999.
 */
function toUtc(text: string, second: number, offsetMs: number): string | undefined {
  const minuteMs = Date.parse(`${text.slice(0, 10)}T${text.slice(11, 16)}:00Z`);
  const utcTime = new Date(minuteMs + second * 1_000 - offsetMs).toISOString();
  return /^\d{4}-/.test(utcTime) ? utcTime.slice(0, 19) : undefined;
}
