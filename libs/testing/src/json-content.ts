import assert from 'node:assert/strict';
import type { JsonText } from '#contracts';
import type { z } from 'zod';

/**
 * Returns the content of a JSON text. Asserts that the content matches its contract exactly: no
 * process validates the text on its way to the client.
 */
export function contentOf<Content extends z.ZodType>(
  text: JsonText<z.output<Content>>,
  content: Content,
): z.output<Content> {
  const value = text.parse();
  assert.deepEqual(content.parse(value), value);
  return value;
}
