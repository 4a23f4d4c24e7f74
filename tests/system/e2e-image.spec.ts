import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';

const dockerfile = readFileSync('apps/Dockerfile', 'utf8');

/** Returns the files and folders that a stage of the Dockerfile copies out of the repository. */
function copiedBy(stage: string): string[] {
  const lines =
    dockerfile.split(/^FROM /m).find((text) => text.split('\n', 1)[0]?.endsWith(` AS ${stage}`)) ??
    '';
  const copies = lines.matchAll(/^COPY (?!--)(.+) \S+$/gm);
  return [...copies].flatMap(([, sources = '']) => sources.split(' '));
}

/** Returns the paths of this repository that string literals of a file name. */
function pathsNamedIn(file: string): string[] {
  const literals = readFileSync(file, 'utf8').matchAll(/(['"`])((?:\.{1,2}\/)*[\w@][\w./@-]*)\1/g);
  const paths = [...literals].flatMap(([, , text = '']) => [
    relative('.', join('e2e', text)),
    relative('.', text),
  ]);
  return paths.filter((path) => path !== '' && !path.startsWith('..') && existsSync(path));
}

/** Folders that the image creates by `npm ci` and `npm run build`. */
const made = ['node_modules', 'dist'];
const copied = [...copiedBy('build'), ...copiedBy('e2e')];
const isIn = (folders: readonly string[], path: string) =>
  folders.some(
    (folder) => path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`),
  );

describe('the image of the end-to-end tests', () => {
  const specs = readdirSync('e2e').filter((name) => name.endsWith('.ts'));

  it.each(specs)('has every file that e2e/%s names', (name) => {
    const missing = pathsNamedIn(join('e2e', name)).filter(
      (path) => !isIn([...copied, ...made], path),
    );
    expect(missing).toEqual([]);
  });

  it('is built from files that .dockerignore includes', () => {
    const ignore = readFileSync('.dockerignore', 'utf8').split('\n');
    const allowed = ignore.filter((line) => line.startsWith('!')).map((line) => line.slice(1));
    expect(copied.filter((path) => !isIn(allowed, path))).toEqual([]);
  });
});
