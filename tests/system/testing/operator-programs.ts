import { callProgram, type ProgramOutcome, TokenIssuer } from '#testing';
import { podcastSync } from '../../../apps/cli/src/podcast-sync.js';

/** A system that operators work on. */
export interface OperatedSystem {
  readonly postgres: {
    readonly url: string;
    readonly urls: { readonly dump: string; readonly deletion: string };
  };
}

/** Runs an operators' program in this process. @throws Error when it does not end with code 0. */
async function succeed(args: readonly string[], env: NodeJS.ProcessEnv): Promise<ProgramOutcome> {
  const outcome = await callProgram(podcastSync, args, {
    AUTH_OWN_ISSUER: TokenIssuer.issuer,
    ...env,
  });
  if (outcome.code !== 0) throw new Error(`${outcome.code}: ${outcome.stderr}`);
  return outcome;
}

/** Writes the data of a system's users to a file. */
export const dump = ({ postgres }: OperatedSystem, out: string, ...args: string[]) =>
  succeed(['dump', '--out', out, ...args], { DATABASE_URL: postgres.urls.dump });

/** Copies the users of a file to another system. */
export const copyUsers = (
  from: OperatedSystem,
  to: OperatedSystem,
  users: string,
  ...args: string[]
) =>
  succeed(['copy-users', '--users', users, ...args], {
    SOURCE_DATABASE_URL: from.postgres.url,
    TARGET_DATABASE_URL: to.postgres.url,
  });

/** Erases users of a system. */
export const erase = ({ postgres }: OperatedSystem, ...args: string[]) =>
  succeed(['erase', ...args], { DATABASE_URL: postgres.urls.deletion });
