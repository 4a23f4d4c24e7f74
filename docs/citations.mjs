// Reports citations of missing pages, sections, decisions and files.
//   node docs/citations.mjs
// A section is a heading, or the bold words that a paragraph begins with:
// docs/reference/interface.md, "Paging". Links lead to headings only: bold words have no anchor.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

const files = execFileSync(
  'git',
  ['ls-files', '-z', '--cached', '--others', '--exclude-standard'],
  {
    encoding: 'utf8',
  },
)
  .split('\0')
  .filter(
    (file) =>
      /\.(ts|mjs|js|json|md|ya?ml|sql)$|Dockerfile$|^\.ci\/run$/.test(file) && existsSync(file),
  )
  .filter((file) => file !== 'package-lock.json');
const decisions = new Set(readdirSync('docs/design/adr').map((name) => Number(name.slice(0, 4))));

/** Returns the headings of a page and the bold beginnings of its paragraphs, cached. */
const sectionsOf = new Map();
function sections(page) {
  if (!sectionsOf.has(page)) {
    const lines = readFileSync(page, 'utf8').split('\n');
    const titles = lines.flatMap(
      (line) => /^(?:#+ (.+)|\*\*([^*]+?)\.?\*\*)/.exec(line)?.slice(1) ?? [],
    );
    sectionsOf.set(page, new Set(titles.filter((title) => title !== undefined)));
  }
  return sectionsOf.get(page);
}

const anchor = (title) =>
  title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

/** Returns true if a heading of a page has this anchor. */
function hasAnchor(page, name) {
  const headings = readFileSync(page, 'utf8').matchAll(/^#+ (.+)/gm);
  return [...headings].some(([, title]) => anchor(title) === name);
}

/** Yields matches of an expression directly after a marker, with the offset of the marker. */
function* following(text, marker, expression) {
  for (let index = text.indexOf(marker); index >= 0; index = text.indexOf(marker, index + 1)) {
    const match = expression.exec(text.slice(index + marker.length, index + 400));
    if (match) yield { match, index };
  }
}

const problems = [];
for (const file of files) {
  const text = readFileSync(file, 'utf8');
  const wrong = (index, what) =>
    problems.push(`${file}:${text.slice(0, index).split('\n').length}: ${what}`);
  for (const {
    match: [cited, page, title, name],
    index,
  } of following(text, 'docs/', /^([\w/-]{1,80}\.md)(?:, "([^"\n]{1,120})"|#([\w-]{1,80}))?/)) {
    const path = `docs/${page}`;
    if (!existsSync(path)) wrong(index, `there is no ${path}`);
    else if (title !== undefined && !sections(path).has(title))
      wrong(index, `no such section: docs/${cited}`);
    else if (name !== undefined && !hasAnchor(path, name))
      wrong(index, `no such section: docs/${cited}`);
  }
  for (const { 1: number, index } of text.matchAll(/\bADR (\d+)/g))
    if (!decisions.has(Number(number))) wrong(index, `there is no ADR ${number}`);
  if (!file.endsWith('.md')) continue;
  for (const { match, index } of following(
    text,
    '`',
    /^((?:apps|libs|e2e|tests|bench|k8s|docs)\/[\w./-]{1,120}\.(?:ts|mjs|yaml|md))`/,
  ))
    if (!existsSync(match[1])) wrong(index, `there is no ${match[1]}`);
  for (const {
    match: [, path, name],
    index,
  } of following(text, '](', /^([^)\s:#]{0,120})(?:#([\w-]{1,80}))?\)/)) {
    const target = path === '' ? file : normalize(join(dirname(file), path));
    if (!existsSync(target)) wrong(index, `a link to ${path}, which is not there`);
    else if (name !== undefined && !hasAnchor(target, name))
      wrong(index, `a link to #${name}, which ${target} does not have`);
  }
}
for (const problem of problems) console.error(problem);
process.exitCode = problems.length > 0 ? 1 : 0;
