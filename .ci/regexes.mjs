// Checks that every regular expression of the programs is linear: another one would let a request
// of a few kilobytes block the process. Tests are excluded, as they read only their own data.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { check } from 'recheck';
import ts from 'typescript';

const files = execFileSync(
  'git',
  ['ls-files', '--cached', '--others', '--exclude-standard', '*.ts', '*.mjs', '*.js'],
  {
    encoding: 'utf8',
  },
);
const found = new Map();
const isTest = (file) => /spec\.ts$|(^|\/)testing\/|^e2e\//.test(file);
for (const file of files.split('\n').filter((path) => path !== '' && !isTest(path))) {
  const source = ts.createSourceFile(
    file,
    readFileSync(file, 'utf8'),
    ts.ScriptTarget.Latest,
    true,
  );
  const visit = (node) => {
    const text = patternOf(node);
    if (text)
      found.set(`${text.source}/${text.flags}`, {
        ...text,
        place: `${file}:${lineOf(source, node)}`,
      });
    ts.forEachChild(node, visit);
  };
  visit(source);
}

const slow = [];
for (const { source, flags, place } of found.values()) {
  const { status, complexity } = await check(source, flags, { timeout: 20_000 });
  if (status !== 'safe')
    slow.push(`${place} ${complexity?.summary ?? status}: /${source}/${flags}`);
}
console.log(`${found.size} regular expressions, ${slow.length} that are not known to be linear`);
for (const line of slow) console.log(line);
process.exitCode = slow.length > 0 ? 1 : 0;

/** Returns the pattern of a literal, or of `new RegExp` with a literal string. */
function patternOf(node) {
  if (ts.isRegularExpressionLiteral(node)) {
    const end = node.text.lastIndexOf('/');
    return { source: node.text.slice(1, end), flags: node.text.slice(end + 1) };
  }
  if (!ts.isNewExpression(node) || node.expression.getText() !== 'RegExp') return undefined;
  const [pattern, flags] = node.arguments ?? [];
  if (!pattern || !ts.isStringLiteralLike(pattern)) return undefined;
  return { source: pattern.text, flags: flags && ts.isStringLiteralLike(flags) ? flags.text : '' };
}

function lineOf(source, node) {
  return source.getLineAndCharacterOfPosition(node.getStart()).line + 1;
}
