import { Failure } from '#contracts';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Deeper than anything that the interface takes, and far from what a recursive function can't follow. */
const maxDepth = 32;

/**
 * JSON in valid UTF-8, not too deep; nothing for no bytes. A key `__proto__` stays an ordinary one, as JSON.parse
 * leaves it.
 *
 * @throws Failure `invalid`.
 */
export function readJson(body: Buffer): unknown {
  if (body.length === 0) return undefined;
  if (depth(body) > maxDepth) throw new Failure('invalid');
  try {
    return JSON.parse(utf8.decode(body));
  } catch (cause) {
    throw new Failure('invalid', undefined, { cause });
  }
}

/** How deep arrays and objects are nested in what may be JSON. */
function depth(body: Buffer): number {
  const [quote, backslash] = [0x22, 0x5c];
  let [now, deepest, inString] = [0, 0, false];
  for (let index = 0; index < body.length; index++) {
    const byte = body[index] as number;
    if (inString) {
      if (byte === backslash) index++;
      else if (byte === quote) inString = false;
    } else if (byte === quote) inString = true;
    // [ and { differ in one bit, and so do ] and }.
    else if ((byte | 0x20) === 0x7b) deepest = Math.max(deepest, ++now);
    else if ((byte | 0x20) === 0x7d) now--;
  }
  return deepest;
}
