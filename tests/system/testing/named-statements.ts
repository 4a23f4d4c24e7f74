import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Statement, statements } from '#database';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** Yields the paths of all program files that call `statement()` or `listing()`. */
function* filesWithStatements(): Generator<string> {
  for (const folder of ['apps', 'libs'])
    for (const file of readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })) {
      if (!/[\\/]src[\\/].*(?<!spec)\.ts$/.test(file)) continue;
      if (
        /(?<!function )\b(?:statement|listing)\(/.test(
          readFileSync(join(root, folder, file), 'utf8'),
        )
      )
        yield join(root, folder, file);
    }
}

/** Returns all named statements of the programs by name. */
export async function namedStatements(): Promise<Map<string, Statement>> {
  for (const file of filesWithStatements()) await import(file);
  return new Map([...statements].filter(([name]) => !name.startsWith('test.')));
}
