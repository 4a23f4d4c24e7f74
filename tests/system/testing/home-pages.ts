import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from '#testing';

/** Commands of the pages for one kind of server: a script for each code block, by its heading. */
type Commands = ReadonlyMap<string, readonly string[]>;

/** Folder of the files that the pages install. */
export const homeFiles = 'docs/examples/home';

/**
 * Returns the commands of docs/guide/home.md and docs/guide/home-maintain.md. A block with
 * `docker compose` is for Docker. Blocks in a language, such as nginx, are not commands.
 */
export function homePages(): { docker: Commands; systemd: Commands } {
  const pages = ['home', 'home-maintain']
    .map((name) => readFileSync(join(repository, `docs/guide/${name}.md`), 'utf8'))
    .join('\n');
  const [docker, systemd] = [new Map<string, string[]>(), new Map<string, string[]>()];
  for (const section of pages.split(/^#+ /m).slice(1)) {
    const heading = section.slice(0, section.indexOf('\n'));
    for (const [, script = ''] of section.matchAll(/^ *```\n([^]*?)^ *```$/gm)) {
      const isDocker = heading === 'With Docker' || script.includes('docker compose');
      const commands = isDocker ? docker : systemd;
      commands.set(heading, [...(commands.get(heading) ?? []), script]);
    }
  }
  return { docker, systemd };
}

/** Makes a git repository of the working tree in a new folder. @param change of the home files. */
export function createRepository(target: string, change: (text: string) => string): void {
  mkdirSync(target);
  const list = 'git ls-files -z --cached --others --exclude-standard';
  execFileSync('bash', ['-c', `${list} | xargs -0 cp --parents -t "${target}"`], {
    cwd: repository,
  });
  for (const name of readdirSync(join(target, homeFiles))) {
    const file = join(target, homeFiles, name);
    writeFileSync(file, change(readFileSync(file, 'utf8')));
  }
  commitAll(target, ['init', '--quiet'], ['add', '--all']);
}

/** Commits everything in a repository, also if nothing has changed. */
export function commitAll(repositoryFolder: string, ...before: string[][]): void {
  const author = ['-c', 'user.name=test', '-c', 'user.email=test@example.org'];
  const commit = [...author, 'commit', '--quiet', '--allow-empty', '--message', 'test'];
  for (const args of [...before, commit]) execFileSync('git', args, { cwd: repositoryFolder });
}
