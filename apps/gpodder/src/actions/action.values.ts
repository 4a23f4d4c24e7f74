import { parseTime, textLimits } from '#contracts';

// Parsers of action values, whose forms vary by client (docs/reference/gpodder.md, "Actions in").

/** A date and time in any form of a client; without `Z` or an offset it is UTC. */
const dateTime =
  /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d)(:\d\d)?([.,]\d{1,30})? ?([Zz]|[+-]\d\d(?::?\d\d)?)?$/;
const digits = /^\d{1,17}(?:\.\d{1,30})?$/;
/** Numbers from here are milliseconds; in seconds this would be the year 5138. */
const firstMilliseconds = 1e11;
/** The last millisecond of the year 9999. */
const lastMilliseconds = 253_402_300_799_999;

/** Older than all others, so that it never wins. */
const oldest = '1970-01-01T00:00:00.000000Z';

/**
 * Returns the time of an action in RFC 3339 and UTC; `undefined` without one. Invalid times become
 * the oldest one, so that such actions never win over newer listening.
 */
export function readTime(sent: unknown): string | undefined {
  if (sent === undefined || sent === null || sent === '') return undefined;
  return timeIn(sent) ?? oldest;
}

function timeIn(sent: unknown): string | undefined {
  if (typeof sent === 'number') return timeOf(sent);
  if (typeof sent !== 'string' || sent.length > 64) return undefined;
  const text = sent.trim();
  if (digits.test(text)) return timeOf(Number(text));
  const match = dateTime.exec(text);
  if (!match) return undefined;
  const [, date, minute, second = ':00', fraction = '', zone = 'Z'] = match;
  return parseTime(`${date}T${minute}${second}${fraction.replace(',', '.')}${withColon(zone)}`)
    ?.instant;
}

function timeOf(sent: number): string | undefined {
  const milliseconds = Math.floor(sent >= firstMilliseconds ? sent : sent * 1_000);
  return milliseconds >= 0 && milliseconds <= lastMilliseconds
    ? new Date(milliseconds).toISOString()
    : undefined;
}

/** Normalizes `+01` and `+0100` to `+01:00`. */
function withColon(zone: string): string {
  if (!/^[+-]/.test(zone)) return zone;
  return `${zone.slice(0, 3)}:${zone.slice(3).replace(':', '') || '00'}`;
}

/** Largest integer that all clients read, because some use 32 bits. */
export const mostSeconds = 2_147_483_647;
const decimal = /^\d{1,10}(?:\.\d{0,30})?$/;
const clockForm = /^(?:(\d{1,6}):)?(\d{1,6}):(\d{1,2})(?:\.\d{1,30})?$/;

/** Returns whole seconds; `undefined` for a missing, negative or invalid number. */
export function readSeconds(sent: unknown): number | undefined {
  const seconds = typeof sent === 'string' ? secondsIn(sent) : sent;
  // A negative number means none, also between -1 and 0.
  if (typeof seconds !== 'number' || !(seconds >= 0 && seconds <= mostSeconds)) return undefined;
  // Adding zero turns -0 into 0.
  return Math.trunc(seconds) + 0;
}

function secondsIn(sent: string): number | undefined {
  if (sent.length > 64) return undefined;
  const text = sent.trim();
  if (decimal.test(text)) return Number(text);
  const [, hours = '0', minutes, seconds] = clockForm.exec(text) ?? [];
  return minutes === undefined
    ? undefined
    : Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds);
}

/** Returns an episode's guid in the feed; `undefined` for a missing or generated one. */
export function readGuid(sent: unknown): string | undefined {
  if (typeof sent !== 'string') return undefined;
  const guid = sent.trim();
  // Kasts generates one for episodes without a guid, and some clients send the string null.
  if (guid === '' || guid === 'null' || guid.startsWith('hash:')) return undefined;
  const isUsable =
    Buffer.byteLength(guid) <= textLimits.episodeGuid && !/[\0\p{Surrogate}]/u.test(guid);
  return isUsable ? guid : undefined;
}
