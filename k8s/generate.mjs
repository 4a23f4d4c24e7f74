// Generates parts of the chart from other files: the variables in values.schema.json, from the
// configuration schemas of the apps; the table of values in README.md, from the comments of
// values.yaml; and the paths of the Ingress, from libs/http. With --check it writes nothing and
// fails if one of them is stale. Needs a build.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { appPaths } from '#http';
import * as prettier from 'prettier';
import { isMap, isScalar, parseDocument, stringify } from 'yaml';
import { variablesOf } from './chart-variables.mjs';

const isCheck = process.argv.includes('--check');
const chartPath = (path) => fileURLToPath(new URL(`chart/${path}`, import.meta.url));
const read = (path) => readFileSync(chartPath(path), 'utf8');

async function renderSchemaFile() {
  const schema = JSON.parse(read('values.schema.json'));
  for (const [app, variables] of Object.entries(await variablesOf()))
    schema.definitions[`${app}Env`].properties = variables;
  return ['values.schema.json', await formatText('values.schema.json', JSON.stringify(schema))];
}

/** Formats a text as `npm run format` does. */
async function formatText(path, text) {
  const filepath = chartPath(path);
  return prettier.format(text, { ...(await prettier.resolveConfig(filepath)), filepath });
}

/** Returns files/paths.yaml. It omits `account`, which serves every path that is not listed. */
async function renderPathsFile() {
  const listed = ['gateway', 'gpodder'].map((app) => {
    const { expressions, ...others } = appPaths[app];
    return [app, { ...others, expressions: expressions.map((expression) => `${expression}$`) }];
  });
  const origin = '# Generated from libs/http/src/app-paths.ts by `npm run docs`.';
  const text = `${origin}\n${stringify(Object.fromEntries(listed))}`;
  return ['files/paths.yaml', await formatText('files/paths.yaml', text)];
}

/** Yields a row of the README's table for each value with a comment, and for each leaf value. */
function* tableRows(map, path) {
  for (const [i, { key, value }] of map.items.entries()) {
    const name = [...path, key.value];
    const comment = (key.commentBefore ?? (i === 0 ? map.commentBefore : undefined))
      ?.split('\n\n')
      .at(-1)
      .replaceAll(/\n?^ ?/gm, ' ')
      .trim();
    const inner = isMap(value) && !value.flow && value.items.length > 0;
    if (comment === undefined && !inner)
      throw new Error(`values.yaml: ${name.join('.')} has no comment`);
    const fallback =
      inner || (isScalar(value) && value.value === '') ? '' : `\`${toTableCell(value.toJSON())}\``;
    if (comment !== undefined)
      yield `| \`${name.join('.')}\` | ${fallback} | ${comment.replaceAll('|', '\\|')} |`;
    if (inner) yield* tableRows(value, name);
  }
}

function toTableCell(value) {
  if (Array.isArray(value)) return `[${value.map(toTableCell).join(', ')}]`;
  if (typeof value !== 'object') return String(value);
  const pairs = Object.entries(value).map(([key, inner]) => `${key}: ${toTableCell(inner)}`);
  return pairs.length === 0 ? '{}' : `{ ${pairs.join(', ')} }`;
}

function renderReadmeFile() {
  const table = [...tableRows(parseDocument(read('values.yaml')).contents, [])].join('\n');
  const [before, , after] = read('README.md').split(
    /(?<=^<!-- values: .*-->\n)|(?=^<!-- end of values -->)/m,
  );
  return [
    'README.md',
    `${before}| value | default | meaning |\n|---|---|---|\n${table}\n${after ?? ''}`,
  ];
}

for (const [path, text] of [
  await renderSchemaFile(),
  renderReadmeFile(),
  await renderPathsFile(),
]) {
  if (read(path) === text) continue;
  if (isCheck) {
    process.stderr.write(`k8s/chart/${path} is stale: run npm run docs\n`);
    process.exitCode = 1;
  } else writeFileSync(chartPath(path), text);
}
