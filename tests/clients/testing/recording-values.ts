/** Values of templates by name. */
export type Values = Record<string, unknown>;

/** Maximum characters of an answer in an error. */
const maxAnswerLength = 2_000;

const template = /\{\{([^}]+)\}\}/;

/** Matchers that a template can use instead of a value, each optionally with `as <name>`. */
const matchers: Readonly<Record<string, string>> = {
  // At most 32 bits, because Kasts reads no more.
  'an integer': '-?\\d{1,9}|[12]\\d{9}',
  // An integer. 1 means no timestamp, and is not captured.
  'a timestamp': '\\d{1,9}|[12]\\d{9}',
  'a text': '[^;,"<]+',
  // UTC without a zone, the format that apps parse.
  'a time': '\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d',
  anything: '[^]*',
};

/**
 * Fills the templates of a JSON value. `"{{name}}"` alone is the value itself, which can be JSON
 * with templates; `{"part": "name", ...}` is a part of the recording with its own values.
 */
export function fill(value: unknown, values: Values): unknown {
  if (typeof value === 'string') return fillString(value, values);
  if (Array.isArray(value)) return value.map((item: unknown) => fill(item, values));
  if (typeof value !== 'object' || value === null) return value;
  const filledObject = Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, fill(one, values)]),
  );
  const { part } = value as { part?: string };
  return part === undefined
    ? filledObject
    : fill((values['parts'] as Values)[part], { ...values, ...filledObject });
}

function fillString(text: string, values: Values): unknown {
  const pieces = text.split(template);
  if (pieces.length === 3 && pieces[0] === '' && pieces[2] === '')
    return valueOf(pieces[1] as string, values);
  return pieces
    .map((piece, at) => (at % 2 === 0 ? piece : String(valueOf(piece, values))))
    .join('');
}

/** Returns the value of a template; a matcher stays as it is. */
function valueOf(name: string, values: Values): unknown {
  if (matcherOf(name)) return `{{${name}}}`;
  if (!(name in values)) throw new Error(`no value for {{${name}}}`);
  const { [name]: value, ...others } = values;
  return fill(value, others);
}

function matcherOf(name: string): { pattern: string; capture: string } | undefined {
  const [kind = '', capture = ''] = name.split(' as ');
  const pattern = matchers[kind];
  return pattern === undefined ? undefined : { pattern, capture };
}

/**
 * Compares an answer with its expected parts: objects can have more fields, lists any order, and a
 * list with "..." more items.
 *
 * @returns values of the matchers; `as name+1` adds one. @throws Error for a difference.
 */
export function expectAnswer(
  expected: unknown,
  actual: unknown,
  values: Values,
  where: string,
): Values {
  const captured: Values = {};
  const needed = fill(expected, values);
  const difference = compare(needed, actual, captured);
  if (difference !== undefined)
    throw new Error(
      `${where}: ${difference}\nneeded: ${JSON.stringify(needed)}\n` +
        `answer: ${JSON.stringify(actual).slice(0, maxAnswerLength)}`,
    );
  return captured;
}

/** Returns a description of the first difference; undefined without one. */
function compare(
  expected: unknown,
  actual: unknown,
  captured: Values,
  path = '',
): string | undefined {
  if (Array.isArray(expected)) return compareLists(expected, actual, captured, path);
  if (typeof expected === 'object' && expected !== null) {
    if (typeof actual !== 'object' || actual === null || Array.isArray(actual))
      return `${path} is no object`;
    for (const [name, one] of Object.entries(expected)) {
      const difference = compare(one, (actual as Values)[name], captured, `${path}.${name}`);
      if (difference !== undefined) return difference;
    }
    return undefined;
  }
  const isEqual =
    typeof expected === 'string' ? matches(expected, actual, captured) : expected === actual;
  return isEqual
    ? undefined
    : `${path} is ${JSON.stringify(actual)} instead of ${JSON.stringify(expected)}`;
}

function compareLists(
  expected: unknown[],
  actual: unknown,
  captured: Values,
  path: string,
): string | undefined {
  if (!Array.isArray(actual)) return `${path} is no list`;
  const rest = [...(actual as unknown[])];
  const needed = expected.filter((item) => item !== '...');
  for (const item of needed) {
    const at = rest.findIndex((one) => compare(item, one, captured) === undefined);
    if (at < 0) return `${path} has no ${JSON.stringify(item)}`;
    rest.splice(at, 1);
  }
  const isOpen = needed.length < expected.length;
  return isOpen || rest.length === 0
    ? undefined
    : `${path} has ${rest.length} more: ${JSON.stringify(rest[0])}`;
}

function matches(expected: string, actual: unknown, captured: Values): boolean {
  const pieces = expected.split(template);
  const templates = pieces.flatMap((piece, at) =>
    at % 2 === 0 ? [] : [matcherOf(piece) ?? { pattern: '', capture: '' }],
  );
  // A number is matched only by a template that is the whole expectation.
  const isInteger = /^\{\{(an integer|a timestamp)[^}]*\}\}$/.test(expected);
  if (isInteger ? !Number.isInteger(actual) : typeof actual !== 'string') return false;
  const literal = (piece: string) => piece.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const pattern = pieces
    .map((piece, at) => (at % 2 === 0 ? literal(piece) : `(${matcherOf(piece)?.pattern})`))
    .join('');
  const groups = new RegExp(`^${pattern}$`).exec(String(actual));
  if (!groups) return false;
  for (const [at, { capture }] of templates.entries()) {
    if (capture === '' || (expected.startsWith('{{a timestamp') && actual === 1)) continue;
    const [name = '', more] = capture.split('+');
    captured[name] = isInteger ? Number(groups[at + 1]) + Number(more ?? 0) : groups[at + 1];
  }
  return true;
}
