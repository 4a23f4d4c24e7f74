import { parseTime, textLimits } from '#contracts';

// Parsers of the values in actions. Their formats differ between clients
// (docs/reference/gpodder.md, "Actions in").

/** Matches all formats of dates with times that clients send. Without an offset they are UTC. */
const dateTimePattern =
  /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d)(:\d\d)?([.,]\d{1,30})? ?([Zz]|[+-]\d\d(?::?\d\d)?)?$/;
/** Matches a time that is a number of seconds or milliseconds as text. */
const numberPattern = /^\d{1,17}(?:\.\d{1,30})?$/;
/** The lowest number that means milliseconds. Lower numbers mean seconds, up to the year 5138. */
const minMilliseconds = 1e11;
/** Maximum of a time in milliseconds: the end of the year 9999. */
const maxMilliseconds = 253_402_300_799_999;

/** Time of a status that was sent with an invalid time. A status with a later time replaces it. */
export const oldestTime = '1970-01-01T00:00:00.000000Z';

/**
 * Returns the time of an action in RFC 3339 and UTC; `undefined` if the client sent none. For
 * an invalid time it returns {@link oldestTime}, so that the action replaces no newer status.
 */
export function parseActionTime(sent: unknown): string | undefined {
  if (sent === undefined || sent === null || sent === '') return undefined;
  return parseAnyTime(sent) ?? oldestTime;
}

/** Parses a time in any format of clients; undefined for an invalid one. */
function parseAnyTime(sent: unknown): string | undefined {
  if (typeof sent === 'number') return parseNumericTime(sent);
  if (typeof sent !== 'string' || sent.length > 64) return undefined;
  const text = sent.trim();
  if (numberPattern.test(text)) return parseNumericTime(Number(text));
  const match = dateTimePattern.exec(text);
  if (!match) return undefined;
  const [, date, minute, second = ':00', fraction = '', zone = 'Z'] = match;
  return parseTime(`${date}T${minute}${second}${fraction.replace(',', '.')}${addColon(zone)}`)
    ?.instant;
}

/** Converts seconds or milliseconds since 1970 to ISO 8601; undefined for an invalid time. */
function parseNumericTime(sent: number): string | undefined {
  const milliseconds = Math.floor(sent >= minMilliseconds ? sent : sent * 1_000);
  return milliseconds >= 0 && milliseconds <= maxMilliseconds
    ? new Date(milliseconds).toISOString()
    : undefined;
}

/** Normalizes an offset such as `+01` or `+0100` to `+01:00`; leaves `Z` unchanged. */
function addColon(zone: string): string {
  if (!/^[+-]/.test(zone)) return zone;
  return `${zone.slice(0, 3)}:${zone.slice(3).replace(':', '') || '00'}`;
}

/** Maximum of positions and durations in seconds, because some clients use 32-bit integers. */
export const maxSeconds = 2_147_483_647;
/** A decimal number of seconds as text. */
const decimalPattern = /^\d{1,10}(?:\.\d{0,30})?$/;
/** A duration such as `1:02:03` or `2:03`. */
const clockPattern = /^(?:(\d{1,6}):)?(\d{1,6}):(\d{1,2})(?:\.\d{1,30})?$/;

/**
 * Parses a number, a decimal text or a text such as `1:02:03` to whole seconds. Returns `undefined`
 * for other values, negative numbers, and numbers above {@link maxSeconds}.
 */
export function parseWholeSeconds(sent: unknown): number | undefined {
  const seconds = typeof sent === 'string' ? parseSeconds(sent) : sent;
  // Ignores negative numbers, which clients send for an unknown value.
  if (typeof seconds !== 'number' || !(seconds >= 0 && seconds <= maxSeconds)) return undefined;
  // Adds zero, to turn -0 into 0.
  return Math.trunc(seconds) + 0;
}

function parseSeconds(sent: string): number | undefined {
  if (sent.length > 64) return undefined;
  const text = sent.trim();
  if (decimalPattern.test(text)) return Number(text);
  const [, hours = '0', minutes, seconds] = clockPattern.exec(text) ?? [];
  return minutes === undefined
    ? undefined
    : Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds);
}

/** Returns an episode's guid; `undefined` if it is missing, unusable, or not from the feed. */
export function parseEpisodeGuid(sent: unknown): string | undefined {
  if (typeof sent !== 'string') return undefined;
  const guid = sent.trim();
  // Ignores `hash:…`, which Kasts generates for episodes without a guid, and the text `null` of
  // some clients.
  if (guid === '' || guid === 'null' || guid.startsWith('hash:')) return undefined;
  const isUsable =
    Buffer.byteLength(guid) <= textLimits.episodeGuid && !/[\0\p{Surrogate}]/u.test(guid);
  return isUsable ? guid : undefined;
}
