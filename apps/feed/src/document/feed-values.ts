import { decodeHTMLStrict } from 'entities';
import { storedTitle } from '#contracts';

/** Maximum bytes of a description. A longer one is cut. */
const maxDescriptionBytes = 1_000;

/** Maximum credible duration in seconds: a week. A longer one is ignored. */
const maxDurationSeconds = 7 * 86_400;

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

/**
 * Hours east of UTC, by the name of the zone: the zones of North America in RFC 822 (5.1), and CET
 * and CEST. All other names count as UTC, also the letters of military zones.
 */
const zoneHours: Readonly<Record<string, number>> = {
  EST: -5,
  EDT: -4,
  CST: -6,
  CDT: -5,
  MST: -7,
  MDT: -6,
  PST: -8,
  PDT: -7,
  CET: 1,
  CEST: 2,
};

/** Matches dates of RFC 822 (5), also with usual errors: long names, no seconds, short years. */
const rfc822 =
  /^(?:[a-z]{2,9}\.?,?\s{1,3})?(\d{1,2})[\s-]([a-z]{3})[a-z]{0,6}\.?[\s-](\d{2}|\d{4})(?:\s{1,3}(\d{1,2}):(\d{2})(?::(\d{2}))?)?\s{0,3}([+-]\d{2}:?\d{2}|[a-z]{1,5})?$/i;

/** Matches dates of RFC 3339 (5.6), also without a time, or with a space instead of the `T`. */
const rfc3339 =
  /^(\d{4}-\d{2}-\d{2})(?:[t ](\d{2}:\d{2}(?::\d{2})?)(?:\.\d{1,9})?\s?(z|[+-]\d{2}:?\d{2})?)?$/i;

const durationPattern = /^(?:(?:(\d{1,3}):)?(\d{1,3}):)?(\d{1,6})(?:\.\d{1,6})?$/;

/**
 * Returns a date of a feed, without fractions of a second. Returns `undefined` for other texts, and
 * for days and times that do not exist, such as 30 February.
 */
export function dateOf(text: string): Date | undefined {
  const trimmed = text.trim();
  const milliseconds = parseRfc3339(trimmed) ?? parseRfc822(trimmed);
  if (milliseconds === undefined || !Number.isFinite(milliseconds)) return undefined;
  const date = new Date(milliseconds);
  return date.getUTCFullYear() >= 1_970 && date.getUTCFullYear() <= 9_999 ? date : undefined;
}

function parseRfc3339(text: string): number | undefined {
  const [, day, time = '00:00', zone = 'Z'] = rfc3339.exec(text) ?? [];
  if (day === undefined || !isExistingDay(...toNumbers(day.split('-')))) return undefined;
  return Date.parse(`${day}T${time}${zone.toUpperCase()}`);
}

function parseRfc822(text: string): number | undefined {
  const match = rfc822.exec(text);
  if (!match) return undefined;
  const [, day, monthName = '', year = '', hour = 0, minute = 0, second = 0, zone] = match;
  const month = months.indexOf(monthName.toLowerCase());
  if (month === -1) return undefined;
  // Years of two digits: 00 to 49 are 2000 to 2049 (RFC 2822, 4.3).
  const century = year.length === 4 ? 0 : Number(year) < 50 ? 2_000 : 1_900;
  const fullYear = century + Number(year);
  if (!isExistingDay(fullYear, month + 1, Number(day))) return undefined;
  const [hours, minutes, seconds] = toNumbers([hour, minute, second]);
  // Some feeds write midnight as 24:00.
  if (hours > 24 || minutes > 59 || seconds > 60) return undefined;
  return Date.UTC(fullYear, month, Number(day), hours, minutes, seconds) - parseOffsetMs(zone);
}

const toNumbers = (texts: readonly (string | number)[]) =>
  texts.map(Number) as [number, number, number];

/** Returns true if the day exists. `Date` converts 30 February to 2 March, for example. */
function isExistingDay(year: number, month: number, day: number): boolean {
  const date = new Date(Date.UTC(year, month - 1, day));
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}

/** Returns the offset of a zone, in milliseconds east of UTC. Unknown names count as UTC. */
function parseOffsetMs(zone = ''): number {
  if (!/^[+-]/.test(zone)) return (zoneHours[zone.toUpperCase()] ?? 0) * 3_600_000;
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(-2));
  return minutes * (zone.startsWith('-') ? -60_000 : 60_000);
}

/**
 * Parses `itunes:duration` to seconds: `3600`, `60:00` or `1:00:00`. Returns `undefined` for other
 * texts, for 0, and above {@link maxDurationSeconds}.
 */
export function parseDuration(text: string): number | undefined {
  const match = durationPattern.exec(text.trim());
  if (!match) return undefined;
  const [, hours = 0, minutes = 0, seconds] = match;
  const total = Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds);
  return total > 0 && total <= maxDurationSeconds ? total : undefined;
}

/**
 * Returns a text on one line, in the form of stored titles; `undefined` for an empty text. Decodes
 * HTML entities in the parsed text, because publishers often encode them twice.
 */
export function lineOf(text: string): string | undefined {
  return storedTitle(decodeHTMLStrict(text).replace(/\s+/g, ' ')) || undefined;
}

/**
 * Returns the plain text of a description that can contain HTML, on one line. Cuts it after
 * {@link maxDescriptionBytes}. Returns `undefined` for an empty text.
 */
export function descriptionOf(text: string): string | undefined {
  const plain = storedTitle(decodeHTMLStrict(text.replace(/<[^<>]*>/g, ' ')).replace(/\s+/g, ' '));
  if (Buffer.byteLength(plain) <= maxDescriptionBytes) return plain || undefined;
  const { read } = new TextEncoder().encodeInto(plain, new Uint8Array(maxDescriptionBytes - 3));
  return `${plain.slice(0, read).trimEnd()}…`;
}
