import { scopes as allScopes } from '#contracts';
import type { ProgramIo } from '#runtime';
import { withSurroundings } from './operator.surroundings.js';

/** What a bearer token is asked to be. */
export interface TokenOptions {
  readonly user: string;
  /** Scopes with spaces between them; by default all. */
  readonly scope?: string;
  /** A number with s, m, h or d, such as `12h`; by default `30d`. */
  readonly expires?: string;
}

/**
 * Prints an app password of a user's account and nothing else; makes the account if there is none.
 *
 * @throws CommandFailed, ConfigurationError.
 */
export async function runToken(
  { user, scope, expires = '30d' }: TokenOptions,
  { env, stdout }: ProgramIo,
): Promise<void> {
  const expiresAt = new Date(Date.now() + secondsOf(expires) * 1_000);
  const scopes = scope?.split(' ') ?? allScopes;
  const { secret } = await withSurroundings(async ({ accounts, appPasswords }) => {
    const { id } = (await accounts.findByName(user)) ?? (await accounts.create({ name: user }));
    return appPasswords.make(id, { label: 'podcast-sync token', scopes, expiresAt });
  }, env);
  stdout.write(`${secret}\n`);
}

const seconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** The seconds of a lifetime such as `12h`. */
function secondsOf(lifetime: string): number {
  return Number.parseInt(lifetime, 10) * (seconds[lifetime.at(-1) ?? ''] as number);
}
