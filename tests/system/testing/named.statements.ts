import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Statement, statements } from '#database';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** Every file of a program that makes statements. */
function* makers(): Generator<string> {
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

/** Every statement of the programs that has a name, by that. */
export async function namedStatements(): Promise<Map<string, Statement>> {
  for (const file of makers()) await import(file);
  return new Map([...statements].filter(([name]) => !name.startsWith('test.')));
}
