/** Captured values by name. `$kind as name` in a vector sets one, `{{name}}` inserts it. */
export type Captures = Record<string, unknown>;

const dateTimePattern = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;
const minutePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d$/;
const uuidPattern = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

/**
 * Returns a time in milliseconds since 1970, or `NaN` for other values. A time has a zone, or the
 * form `YYYY-MM-DDThh:mm`, which is in UTC.
 */
function timeInMs(value: unknown): number {
  const text = String(value);
  if (minutePattern.test(text)) return Date.parse(`${text}Z`);
  return dateTimePattern.test(text) ? Date.parse(text) : NaN;
}

/** The wildcards of vectors. `$uuid` matches the values for which `uuidPattern` returns true. */
const wildcards: Record<string, (value: unknown) => boolean> = {
  any: (value) => value !== undefined,
  absent: (value) => value === undefined || value === null,
  empty: (value) => value === undefined || (Array.isArray(value) && value.length === 0),
  string: (value) => typeof value === 'string',
  text: (value) => typeof value === 'string' && value !== '',
  number: (value) => typeof value === 'number',
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === 'boolean',
  array: (value) => Array.isArray(value),
  uuid: (value) => typeof value === 'string' && uuidPattern.test(value),
  url: (value) => typeof value === 'string' && URL.canParse(value),
  time: (value) => typeof value === 'string' && dateTimePattern.test(value),
  moment: (value) =>
    typeof value === 'string' && (dateTimePattern.test(value) || minutePattern.test(value)),
};

type Operator = (operand: never, actual: unknown, captures: Captures, path: string) => Mismatch;

/** Text of the first difference between value and pattern, or `undefined` if they match. */
type Mismatch = string | undefined;

/** The operators of vectors: an object with one of these keys is a pattern, not a value. */
const operators: Record<string, Operator> = {
  $or: (patterns: unknown[], actual, captures, path) =>
    patterns.some((pattern) => matches(pattern, actual, captures))
      ? undefined
      : differenceText(path, { $or: patterns }, actual),
  $has: (patterns: unknown[], actual, captures, path) => {
    const missing = patterns.find(
      (pattern) => !arrayOrEmpty(actual).some(isMatch(pattern, captures)),
    );
    return missing === undefined ? undefined : differenceText(`${path}[]`, missing, actual);
  },
  $lacks: (pattern: unknown, actual, captures, path) =>
    arrayOrEmpty(actual).some(isMatch(pattern, captures))
      ? differenceText(path, { $lacks: pattern }, actual)
      : undefined,
  $each: (pattern: unknown, actual, captures, path) => {
    const odd = arrayOrEmpty(actual).find((row) => !isMatch(pattern, captures)(row));
    return Array.isArray(actual) && odd === undefined
      ? undefined
      : differenceText(`${path}[]`, pattern, odd ?? actual);
  },
  $size: (size: number, actual, _captures, path) =>
    arrayOrEmpty(actual).length === size
      ? undefined
      : differenceText(path, { $size: size }, actual),
  $not: (pattern: unknown, actual, captures, path) =>
    matches(pattern, actual, captures)
      ? differenceText(path, { $not: pattern }, actual)
      : undefined,
  $matches: (source: string, actual, _captures, path) =>
    typeof actual === 'string' && new RegExp(source, 'u').test(actual)
      ? undefined
      : differenceText(path, { $matches: source }, actual),
  $after: (time: string, actual, _captures, path) =>
    timeInMs(actual) > timeInMs(time) ? undefined : differenceText(path, { $after: time }, actual),
  $minute: (time: string, actual, _captures, path) =>
    Math.floor(timeInMs(actual) / 60_000) === Math.floor(timeInMs(time) / 60_000)
      ? undefined
      : differenceText(path, { $minute: time }, actual),
};

/** Returns the value if it is an array, else an empty array. */
function arrayOrEmpty(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function differenceText(path: string, expected: unknown, actual: unknown): string {
  return `${path} is ${shortText(actual)}, expected ${shortText(expected)}`;
}

function shortText(value: unknown): string {
  const text = value === undefined ? 'absent' : JSON.stringify(value);
  return text.length > 500 ? `${text.slice(0, 500)}…` : text;
}

const isMatch = (pattern: unknown, captures: Captures) => (row: unknown) =>
  matches(pattern, row, captures);

/** Returns true if a value matches. Keeps the captures of a match only. */
function matches(pattern: unknown, actual: unknown, captures: Captures): boolean {
  const own = { ...captures };
  if (mismatch(pattern, actual, own) !== undefined) return false;
  Object.assign(captures, own);
  return true;
}

/**
 * Compares a value with a pattern and returns the first difference, or `undefined`. A pattern is a
 * value, a wildcard or an operator (README.md). Objects can have more fields than their pattern;
 * arrays must have the same length and order.
 *
 * @param captures receives the captured values.
 * @param path of the value in the answer, for the message.
 */
export function mismatch(
  pattern: unknown,
  actual: unknown,
  captures: Captures,
  path = 'body',
): Mismatch {
  if (typeof pattern === 'string' && pattern.startsWith('$')) {
    const [kind = '', name] = pattern.slice(1).split(' as ');
    const test = wildcards[kind];
    if (test === undefined) throw new Error(`unknown wildcard ${pattern}`);
    if (!test(actual)) return differenceText(path, pattern, actual);
    if (name !== undefined) captures[name] = actual;
    return undefined;
  }
  if (Array.isArray(pattern)) {
    if (arrayOrEmpty(actual).length !== pattern.length || !Array.isArray(actual))
      return differenceText(path, pattern, actual);
    return firstMismatch(
      pattern.map((item, at) => [item, actual[at], `${path}[${at}]`]),
      captures,
    );
  }
  if (typeof pattern === 'object' && pattern !== null) {
    const [key = ''] = Object.keys(pattern);
    const operator = operators[key];
    if (operator) return operator((pattern as never)[key], actual, captures, path);
    if (typeof actual !== 'object' || actual === null) return differenceText(path, pattern, actual);
    return firstMismatch(
      Object.entries(pattern).map(([field, item]) => [
        item,
        (actual as Record<string, unknown>)[field],
        `${path}.${field}`,
      ]),
      captures,
    );
  }
  return pattern === actual ? undefined : differenceText(path, pattern, actual);
}

function firstMismatch(parts: [unknown, unknown, string][], captures: Captures): Mismatch {
  for (const [pattern, actual, path] of parts) {
    const found = mismatch(pattern, actual, captures, path);
    if (found !== undefined) return found;
  }
  return undefined;
}
