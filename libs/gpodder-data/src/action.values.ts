import { parseTime, textLimits } from '#contracts';

// Parsers of action values, whose formats vary by client (docs/reference/gpodder.md, "Actions in").

/** Matches all date and time formats that clients send. Without `Z` or an offset, it is UTC. */
const dateTime =
  /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d)(:\d\d)?([.,]\d{1,30})? ?([Zz]|[+-]\d\d(?::?\d\d)?)?$/;
const digits = /^\d{1,17}(?:\.\d{1,30})?$/;
/** The lowest number that is read as milliseconds. In seconds it would be the year 5138. */
const firstMilliseconds = 1e11;
/** The last millisecond of the year 9999. */
const lastMilliseconds = 253_402_300_799_999;

/** The time of a status whose sent time is invalid. A status with any later time replaces it. */
export const oldestTime = '1970-01-01T00:00:00.000000Z';

/**
 * Returns the time of an action in RFC 3339 and UTC; `undefined` if the client sent none. An
 * invalid time becomes {@link oldestTime}, so that the action does not replace newer statuses.
 */
export function readTime(sent: unknown): string | undefined {
  if (sent === undefined || sent === null || sent === '') return undefined;
  return parseAnyTime(sent) ?? oldestTime;
}

function parseAnyTime(sent: unknown): string | undefined {
  if (typeof sent === 'number') return fromNumber(sent);
  if (typeof sent !== 'string' || sent.length > 64) return undefined;
  const text = sent.trim();
  if (digits.test(text)) return fromNumber(Number(text));
  const match = dateTime.exec(text);
  if (!match) return undefined;
  const [, date, minute, second = ':00', fraction = '', zone = 'Z'] = match;
  return parseTime(`${date}T${minute}${second}${fraction.replace(',', '.')}${withColon(zone)}`)
    ?.instant;
}

function fromNumber(sent: number): string | undefined {
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

/** Maximum of positions and durations in seconds. Some clients read 32-bit integers. */
export const maxSeconds = 2_147_483_647;
const decimal = /^\d{1,10}(?:\.\d{0,30})?$/;
const clockFormat = /^(?:(\d{1,6}):)?(\d{1,6}):(\d{1,2})(?:\.\d{1,30})?$/;

/**
 * Parses a number, a decimal text or a text such as `1:02:03` to whole seconds. Returns `undefined`
 * for other values, negative numbers, and numbers above {@link maxSeconds}.
 */
export function readSeconds(sent: unknown): number | undefined {
  const seconds = typeof sent === 'string' ? parseSeconds(sent) : sent;
  // Clients send negative numbers for an unknown value.
  if (typeof seconds !== 'number' || !(seconds >= 0 && seconds <= maxSeconds)) return undefined;
  // Adding zero turns -0 into 0.
  return Math.trunc(seconds) + 0;
}

function parseSeconds(sent: string): number | undefined {
  if (sent.length > 64) return undefined;
  const text = sent.trim();
  if (decimal.test(text)) return Number(text);
  const [, hours = '0', minutes, seconds] = clockFormat.exec(text) ?? [];
  return minutes === undefined
    ? undefined
    : Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds);
}

/** Returns an episode's guid from the feed; `undefined` if it is missing, unusable or generated. */
export function readGuid(sent: unknown): string | undefined {
  if (typeof sent !== 'string') return undefined;
  const guid = sent.trim();
  // Kasts generates `hash:…` for episodes without a guid. Some clients send the string `null`.
  if (guid === '' || guid === 'null' || guid.startsWith('hash:')) return undefined;
  const isUsable =
    Buffer.byteLength(guid) <= textLimits.episodeGuid && !/[\0\p{Surrogate}]/u.test(guid);
  return isUsable ? guid : undefined;
}
