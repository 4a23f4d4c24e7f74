import assert from 'node:assert/strict';
import type { JsonText } from '#contracts';
import type { z } from 'zod';

/** What a text holds, which must be what its contract says and no more: nobody looks at it on its way to the client. */
export function contentOf<Content extends z.ZodType>(
  text: JsonText<z.output<Content>>,
  content: Content,
): z.output<Content> {
  const value = text.parse();
  assert.deepEqual(content.parse(value), value);
  return value;
}
