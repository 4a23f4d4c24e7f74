// Checks words, docstrings, names of files, lines and commit subjects (CONTRIBUTING.md, "Style").
//   node .ci/language.mjs [PATH…]          checks all files, or those below the paths
//   node .ci/language.mjs --commits RANGE  checks the subjects of commits, as in v0.1.0..HEAD
// A comment "language-ok: reason" on a line allows what the check reports there.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { basename, relative } from 'node:path';
import ts from 'typescript';

const maxColumns = 100;
const maxSubject = 72;

/** Expressions for phrases that have a standard term, with that term. */
const phrases = Object.entries({
  anew: 'again',
  'as ever': 'as before',
  'at once': 'immediately, or simultaneously',
  beside: 'next to, or in addition to',
  'by (?:itself|themselves)': 'automatically, separately, or alone',
  deaf: 'disconnected',
  '(?:is|are|was|were|be|been) away': 'is unavailable, or disconnected',
  'ears?': 'subscriber',
  'first of all': 'first',
  'for ever': 'permanently',
  'friends?': 'trusted device, or trusted network',
  '(?:go|goes|going|went) on': 'continues',
  '(?:hear|hears|heard) of': 'is notified of, or receives',
  'in the place of': 'instead of',
  'knows? (?:no|nothing)': 'does not support, or does not depend on',
  'may not': 'must not, or is not allowed to',
  'mend(?:s|ed|ing)?': 'fix',
  'not to be had': 'unavailable',
  'patien(?:ce|tly)': 'timeout, or retry',
  'puts? right': 'corrects',
  'remember(?:s|ed)?': 'stores, or caches',
  standing: 'current value',
  'strangers?': 'unauthenticated client',
  surroundings: 'context',
  '(?:is|are|was|were|be|been) told': 'receives, or is notified',
  '(?:what|that) stands': 'the current value',
  'without a word': 'silently',
}).map(([phrase, term]) => ({
  expression: new RegExp(`(?<![\\w-])(?:${phrase.replaceAll(' ', ' +')})(?![\\w-])`, 'gi'),
  term,
}));

/** Words that no declared name contains, with a suggestion each. */
const namesToAvoid = new Map([
  ['begun', 'started'],
  ['bury', 'insertTombstone'],
  ['deaf', 'disconnected'],
  ['ear', 'subscriber'],
  ['hears', 'connected'],
  ['meant', 'match'],
  ['patience', 'timeouts'],
  ['patiently', 'withRetry'],
  ['standing', 'current'],
  ['stranger', 'unauthenticated'],
  ['surroundings', 'context'],
  ['told', 'answered'],
]);

const docstringOpenings = /^(?:What|How|Whether|Who|Whose|Whom|Where|When|Which|That)\b/;
const subject = /(?<![\w"'])(?:Who|Whoever|Whose|What) /g;
const generated =
  /^(?:docs\/reference\/configuration\.md|k8s\/chart\/README\.md|package-lock\.json)$/;
const excluded = /^(?:\.ci\/language\.mjs|libs\/contracts\/messages\/.*)$/;
const types = /\.(?:tsx?|mjs|js|md|ya?ml)$/;
/** Words after the dot in the name of a file: its role. */
const roles =
  'command|config|contracts|controller|decorators?|entity|filter|fixture|guard|metrics|module|' +
  'repository|rules|schemas|service|sql|view|de|en';
const fileName = new RegExp(
  `^[a-z0-9]+(?:-[a-z0-9]+)*(?:\\.(?:${roles}))?(?:\\.(?:[a-z0-9]+-)?spec)?(?:\\.d)?\\.[a-z]+$`,
);
const commitTypes = 'build|chore|ci|docs|feat|fix|perf|refactor|revert|style|test';
const conventional = new RegExp(`^(?:${commitTypes})(?:\\([\\w./, -]+\\))?!?: \\S`);

const problems = [];
const report = (place, rule, message) => problems.push({ place, rule, message });

const args = process.argv.slice(2);
if (args[0] === '--commits') checkCommits(args[1] ?? 'HEAD');
else for (const file of filesBelow(args)) checkFile(file);

problems.sort((a, b) => a.place.localeCompare(b.place, 'en', { numeric: true }));
for (const { place, message } of problems) console.log(`${place}: ${message}`);
for (const rule of new Set(problems.map((problem) => problem.rule)))
  console.log(`${problems.filter((problem) => problem.rule === rule).length} ${rule}`);
process.exitCode = problems.length > 0 ? 1 : 0;

/** Reports subjects that are too long or no Conventional Commits. */
function checkCommits(range) {
  const log = execFileSync('git', ['log', '--no-merges', '--format=%h%x09%s', range], {
    encoding: 'utf8',
  });
  for (const line of log.split('\n').filter(Boolean)) {
    const [commit, text] = line.split('\t');
    if (!conventional.test(text)) report(commit, 'commit', `not "type(scope): subject": ${text}`);
    if (text.length > maxSubject)
      report(commit, 'commit', `subject of ${text.length} characters, at most ${maxSubject}`);
  }
}

/** Returns the checked files below the paths, or all without a path. */
function filesBelow(paths) {
  const inRepository = paths.map((path) => relative('.', path) || '.');
  const list = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--'];
  return execFileSync('git', [...list, ...inRepository], { encoding: 'utf8' })
    .split('\0')
    .filter((file) => types.test(file) && !generated.test(file) && !excluded.test(file))
    .filter((file) => existsSync(file));
}

function checkFile(file) {
  const text = readFileSync(file, 'utf8');
  const lines = text.split('\n');
  const allowed = (line) => lines[line - 1].includes('language-ok:');
  const reportAt = (offset, rule, message) => {
    const line = text.slice(0, offset).split('\n').length;
    if (!allowed(line)) report(`${file}:${line}`, rule, message);
  };
  checkColumns(file, lines, allowed);
  if (/\.(?:md|ya?ml)$/.test(file)) return checkProse(withoutCode(text), 0, reportAt);
  if (!fileName.test(basename(file)))
    report(file, 'file name', 'write kebab-case.ts or kebab-case.ROLE.ts');
  checkSource(file, text, reportAt);
}

/** Reports long lines, except tables of Markdown and lines that cannot be wrapped. */
function checkColumns(file, lines, allowed) {
  for (const [i, line] of lines.entries()) {
    if (line.length <= maxColumns || allowed(i + 1)) continue;
    if (file.endsWith('.md') && line.startsWith('|')) continue;
    if (line.split(' ').some(isAddress) || line.trim().split(' ').length < 3) continue;
    report(`${file}:${i + 1}`, 'columns', `${line.length} columns, at most ${maxColumns}`);
  }
}

/** Returns true for an address that is too long to wrap its line. */
function isAddress(word) {
  return word.length > maxColumns / 2 && /:\/\/|\]\(/.test(word);
}

/** Checks comments, strings, docstrings and declared names. */
function checkSource(file, text, reportAt) {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const comments = new Map();
  const visit = (node) => {
    const start = node.getStart();
    if (isText(node)) checkPhrases(text.slice(start, node.end), start, reportAt);
    if (node.name && ts.isIdentifier(node.name)) checkName(node.name, reportAt);
    const children = node.getChildren();
    if (children.length === 0)
      for (const range of [
        ...(ts.getLeadingCommentRanges(text, node.pos) ?? []),
        ...(ts.getTrailingCommentRanges(text, node.end) ?? []),
      ])
        if (node.kind !== ts.SyntaxKind.JsxText) comments.set(range.pos, range.end);
    for (const child of children) if (!ts.isJSDoc(child)) visit(child);
  };
  visit(source);
  for (const [start, end] of comments) checkComment(text.slice(start, end), start, reportAt);
}

/** Returns true for literals that people read. Names of modules are none. */
function isText(node) {
  if (ts.isStringLiteralLike(node)) {
    return !ts.isImportDeclaration(node.parent) && !ts.isExportDeclaration(node.parent);
  }
  return ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node) || ts.isJsxText(node);
}

/** Reports a declared name with a word to avoid. Uses of third-party names are no declarations. */
function checkName(name, reportAt) {
  if (ts.isPropertyAccessExpression(name.parent) || ts.isImportSpecifier(name.parent)) return;
  for (const word of name.text.match(/[A-Z]?[a-z]+|[A-Z]+/g) ?? []) {
    const term = namesToAvoid.get(word.toLowerCase());
    if (term) reportAt(name.getStart(), 'name', `${name.text}: write ${term}`);
  }
}

function checkComment(comment, start, reportAt) {
  const isDocstring = comment.startsWith('/**');
  const prose = comment
    .replaceAll(/^ *\* ?/gm, (decoration) => ' '.repeat(decoration.length))
    .replace(/^\/\*+|^\/\/+/, (decoration) => ' '.repeat(decoration.length))
    .replace(/\*\/$/, '  ');
  const [opening] = (isDocstring && docstringOpenings.exec(prose.trimStart())) || [];
  if (opening) reportAt(start, 'docstring', `begins with ${opening}: say what it returns or does`);
  checkProse(prose, start, reportAt, Boolean(opening));
}

/** Checks phrases and subjects of sentences, which may go over several lines. */
function checkProse(prose, start, reportAt, isOpeningReported = false) {
  checkPhrases(prose, start, reportAt);
  const text = prose.replaceAll('\n', ' ');
  const first = text.length - text.trimStart().length;
  for (const { 0: match, index } of text.matchAll(subject)) {
    const [end] = /[.?!](?:\s|$)|$/.exec(text.slice(index));
    const line = prose.slice(prose.lastIndexOf('\n', index) + 1);
    const isReported = isOpeningReported && index === first;
    if (isReported || end.startsWith('?') || /^[#|]/.test(line)) continue;
    const message = `a sentence begins with ${match.trim()}: name its subject`;
    reportAt(start + index, 'subject', message);
  }
}

function checkPhrases(text, start, reportAt) {
  const oneLine = text.replaceAll('\n', ' ');
  for (const { expression, term } of phrases)
    for (const { 0: match, index } of oneLine.matchAll(expression))
      reportAt(start + index, 'dialect', `"${match.replaceAll(/ +/g, ' ')}": write ${term}`);
}

/** Replaces code and addresses of Markdown by spaces, so that offsets stay. */
function withoutCode(text) {
  return text.replaceAll(/```[^`]*```|`[^`\n]*`|\]\([^()\s]*\)|https?:\/\/\S+/g, (code) =>
    code.replaceAll(/[^\n]/g, ' '),
  );
}
