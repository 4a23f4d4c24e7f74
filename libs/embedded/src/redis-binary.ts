import { spawnSync } from 'node:child_process';
import { fetchDebianProgram, type Program } from './debian-program.js';
import { StartError } from './embedded-server.js';

/** Valkey is the community's fork of Redis and speaks the same protocol. */
const serverNames = ['redis-server', 'valkey-server'] as const;

/**
 * The lowest supported version. The transport uses XADD with NOMKSTREAM and MINID, and XPENDING
 * with IDLE, which Redis 6.2 added. Every version of Valkey is newer.
 */
const minimumVersion = [6, 2] as const;

/**
 * Returns a usable Redis or Valkey: from PATH, or from Debian's or Ubuntu's packages, unpacked into
 * `programs` for later starts. Installs nothing into the system.
 *
 * @throws StartError with instructions to get one.
 */
export async function findOrFetchRedis(
  programs: string,
  reportProgress: (line: string) => void,
): Promise<Program> {
  const candidates = serverNames.map((command) => ({ command, env: process.env }));
  const usableProgram = candidates.find((program) => isUsable(program));
  if (usableProgram) return usableProgram;
  for (const server of serverNames) {
    const downloaded = await fetchDebianProgram(server, programs, isUsable, reportProgress);
    if (downloaded) return downloaded;
  }
  throw new StartError(
    `Redis ${minimumVersion.join('.')} or newer is required and was not found. Either:\n` +
      '  - install it: "apt-get install redis-server", "dnf install valkey", "apk add redis", ' +
      '"brew install redis";\n' +
      '  - or start one anywhere, e.g. in a container, and set REDIS_URL.',
  );
}

/** Returns true if a program runs and prints a supported version: `Redis server v=7.0.15 …`. */
function isUsable({ command, env }: Program): boolean {
  const { stdout } = spawnSync(command, ['--version'], { env, encoding: 'utf8' });
  const [, major, minor] = /\bv=(\d+)\.(\d+)/.exec(stdout ?? '') ?? [];
  if (major === undefined) return false;
  return (
    Number(major) > minimumVersion[0] ||
    (Number(major) === minimumVersion[0] && Number(minor) >= minimumVersion[1])
  );
}
