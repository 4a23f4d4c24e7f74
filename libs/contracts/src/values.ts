import { z } from 'zod';
import { textLimits } from './limits.js';

/** Accepts a UUID and returns it in lower case (docs/reference/interface.md, "Guids"). */
export const guidSchema = z.guid().transform((guid) => guid.toLowerCase());

/** Matches a character that a person can see. */
const visible = /[^\p{Default_Ignorable_Code_Point}\p{C}\p{Z}]/u;

/**
 * Returns a title as stored (docs/reference/episodes.md, "Texts"): trimmed, with spaces for
 * control characters and lone surrogates, and cut at a whole character within its limit. A title
 * without a visible character becomes empty, so that lists show another name. Idempotent.
 */
export function storedTitle(sent: string): string {
  if (!visible.test(sent)) return '';
  const title = sent.replace(/[\p{Cc}\p{Surrogate}]/gu, ' ').trim();
  if (Buffer.byteLength(title) <= textLimits.title) return title;
  // encodeInto writes as many whole characters as fit into the buffer.
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

/** A time from a client. */
export interface ClientTime {
  /** UTC with microseconds, `2023-02-23T14:00:00.000000Z`; comparable as text. */
  instant: string;
  /** True if it has minutes only, without a zone. */
  minuteForm: boolean;
}

const minuteForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d$/;
/** RFC 3339, section 5.6. A query string can turn a `+` into a space. */
const rfc3339 = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.(\d+))?(?:[Zz]|([+\- ])(\d\d):(\d\d))$/;

/** Parses an RFC 3339 date-time (fraction cut to microseconds); `undefined` if invalid. */
export function parseTime(text: string): ClientTime | undefined {
  const match = rfc3339.exec(text);
  if (!match) return undefined;
  const [, fraction = '', sign, offsetHour = '00', offsetMinute = '00'] = match;
  const second = digits(text, 17);
  if (Number(offsetHour) > 23 || Number(offsetMinute) > 59 || second > 60 || !exists(text))
    return undefined;
  const offset =
    (Number(offsetHour) * 60 + Number(offsetMinute)) * (sign === '-' ? -60_000 : 60_000);
  const isUtc = offset === 0 && second < 60;
  const whole = isUtc ? `${text.slice(0, 10)}T${text.slice(11, 19)}` : inUtc(text, second, offset);
  if (whole === undefined || whole.startsWith('0000')) return undefined;
  return { instant: `${whole}.${fraction.slice(0, 6).padEnd(6, '0')}Z`, minuteForm: false };
}

/** Parses the time of a status: RFC 3339, or `YYYY-MM-DDThh:mm` in UTC; `undefined` if invalid. */
export function parseStatusTime(text: string): ClientTime | undefined {
  if (!minuteForm.test(text)) return parseTime(text);
  if (!exists(text) || text.startsWith('0000')) return undefined;
  return { instant: `${text}:00.000000Z`, minuteForm: true };
}

/** Maximum lead of clients' clocks in milliseconds. Later times would win against all changes. */
const aheadLimitMs = 5 * 60 * 1_000;

/** Returns a time of the server in the form of {@link ClientTime.instant}. */
export function instantOf(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 23)}000Z`;
}

/** Latest accepted time of the last request, cached because a request checks each of its times. */
let latest = { arrivedMs: Number.NaN, instant: '' };

/**
 * Returns the time of a client's change. A time more than 5 minutes after the request's arrival is
 * replaced by the arrival, and `clamped` is true (docs/reference/interface.md, "Times").
 *
 * @param arrivedMs milliseconds since 1970.
 */
export function clampedTime(instant: string, arrivedMs: number): { at: string; clamped: boolean } {
  if (arrivedMs !== latest.arrivedMs)
    latest = { arrivedMs, instant: instantOf(arrivedMs + aheadLimitMs) };
  const clamped = instant > latest.instant;
  return { at: clamped ? instantOf(arrivedMs) : instant, clamped };
}

/**
 * Returns true if the current value is newer than a change of `is_subscribed`
 * (docs/reference/subscriptions.md, "Subscription timestamps"). At equal times, subscribed wins. A
 * change without a time wins always.
 *
 * @param current the current value, `false` for a tombstone, and its time.
 */
export function isSuperseded(
  current: { isSubscribed: boolean; subscribedAt: string },
  isSubscribed: boolean,
  at: string | undefined,
): boolean {
  if (at === undefined || at > current.subscribedAt) return false;
  return at < current.subscribedAt || (current.isSubscribed && !isSubscribed);
}

/** Returns a time cut to milliseconds, the form of stamps. */
export function toStamp(time: ClientTime): string {
  return `${time.instant.slice(0, 23)}Z`;
}

/** Returns the number of two digits at an offset of an RFC 3339 time. */
function digits(text: string, at: number): number {
  return text.charCodeAt(at) * 10 + text.charCodeAt(at + 1) - 11 * 48;
}

/** Returns true if date and minute exist. `Date` is too slow for an upload with 100 times. */
function exists(text: string): boolean {
  const [month, day] = [digits(text, 5), digits(text, 8)];
  const days = daysOf(digits(text, 0) * 100 + digits(text, 2), month);
  return day >= 1 && day <= days && digits(text, 11) <= 23 && digits(text, 14) <= 59;
}

/** Returns the number of days of a month, 0 for an invalid month. */
function daysOf(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return [0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month] ?? 0;
}

/**
 * Converts a time with an offset (ms) to UTC in seconds, without a zone. A leap second becomes the
 * next second. Returns `undefined` outside the years 0 to 9999.
 */
function inUtc(text: string, second: number, offset: number): string | undefined {
  const minute = Date.parse(`${text.slice(0, 10)}T${text.slice(11, 16)}:00Z`);
  const iso = new Date(minute + second * 1_000 - offset).toISOString();
  return /^\d{4}-/.test(iso) ? iso.slice(0, 19) : undefined;
}
