import { join } from 'node:path';
import { scopes as allScopes } from '#contracts';
import { TokenIssuer } from '#embedded';
import type { ProgramIo } from '#runtime';
import { commandLineId } from '../people/registration.js';
import { type Surroundings, withSurroundings } from './operator.surroundings.js';

/** What a bearer token is asked to be. */
export interface TokenOptions {
  readonly user: string;
  /** Scopes with spaces between them; by default all. */
  readonly scope?: string;
  /** A number with s, m, h or d, such as `12h`. */
  readonly expires?: string;
  /** Where the keys of the built-in issuer are. */
  readonly data: string;
}

/**
 * Prints a bearer token and nothing else: where accounts run an app password, elsewhere a token of the built-in issuer,
 * as in a container for tokens.
 *
 * @throws CommandFailed, ConfigurationError.
 */
export async function runToken(options: TokenOptions, { env, stdout }: ProgramIo): Promise<void> {
  const token =
    env['DATABASE_URL'] || env['DATABASE_URL_FILE']
      ? await withSurroundings((surroundings) => appPassword(options, surroundings), env)
      : await (await TokenIssuer.open(join(options.data, 'keys'))).issue(options.user, options);
  stdout.write(`${token}\n`);
}

/** Makes an app password, and the account where there is none: that of the command line's user of this name. */
async function appPassword(
  { user, scope, expires = TokenIssuer.lifetime }: TokenOptions,
  { accounts, appPasswords }: Surroundings,
): Promise<string> {
  const expiresAt = new Date(Date.now() + secondsOf(expires) * 1_000);
  const account = (await accounts.findByName(user)) ?? (await accounts.create({ name: user, id: commandLineId(user) }));
  const scopes = scope?.split(' ') ?? allScopes;
  const { secret } = await appPasswords.make(account.id, { label: 'podcast-sync token', scopes, expiresAt });
  return secret;
}

const seconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** The seconds of a lifetime such as `12h`. */
function secondsOf(lifetime: string): number {
  return Number.parseInt(lifetime, 10) * (seconds[lifetime.at(-1) ?? ''] as number);
}
