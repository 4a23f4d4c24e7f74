import { parseArgs } from 'node:util';

/** What an operator says to import. */
export interface ImportOptions {
  /** Base URL of the other server; `/` at its end. */
  readonly from: URL;
  /** The name of the account here. */
  readonly user: string;
  /** Who that is there. */
  readonly login: string;
  /** Where the password is; not said: it is asked for. */
  readonly passwordFile: string | undefined;
  /** Where it is noted how far it came. */
  readonly progress: string | undefined;
}

export const usage = `Usage: npm run -s import -- --from URL --user NAME [OPTIONS]

Copies subscriptions, episode actions and favourites from a server of the gpodder API or a Nextcloud with gpoddersync into
an account here. What is newer here stays: twice is the same as once, and what was unsubscribed here stays so.

  --from URL            the other server, as its address is typed into apps
  --user NAME           the account here, and there
  --login NAME          who it is there, where that is another name
  --password-file FILE  the password there, on its first line (default: it is asked for; it is never kept)
  --insecure            take http: everybody on the way can read the password
  --progress FILE       where it is noted how far it came (default: import-….progress here); started again it goes on

Environment: REDIS_URL or the like, as all apps have it. When none is set, the system that \`npm start\` runs on .data is
meant.

Exit codes: 0 all imported, 1 not done, 2 not understood, 78 no usable environment.`;

/** The command line can't be understood, or asks how to use it. */
export class UsageError extends Error {}

/** Reads a command line. @throws UsageError with what is wrong; without a message where help was asked for. */
export function readOptions(args: readonly string[]): ImportOptions {
  const values = parsed(args);
  if (values.help) throw new UsageError();
  if (values.from === undefined || values.user === undefined) throw new UsageError('--from and --user are needed');
  const from = URL.canParse(values.from) ? new URL(values.from) : undefined;
  if (!from || !/^https?:$/.test(from.protocol)) throw new UsageError('--from is no URL with https');
  if (from.username !== '' || from.password !== '') throw new UsageError('a password in --from would be seen by all');
  if (from.protocol === 'http:' && !values.insecure)
    throw new UsageError('--from has no https: everybody on the way could read the password (--insecure takes it)');
  Object.assign(from, {
    search: '',
    hash: '',
    pathname: from.pathname.endsWith('/') ? from.pathname : `${from.pathname}/`,
  });
  const { user, login = user, progress } = values;
  return { from, user, login, passwordFile: values['password-file'], progress };
}

function parsed(args: readonly string[]) {
  const text = { type: 'string' } as const;
  const yes = { type: 'boolean' } as const;
  const options = {
    from: text,
    user: text,
    login: text,
    'password-file': text,
    progress: text,
    insecure: yes,
    help: { ...yes, short: 'h' },
  } as const;
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}
