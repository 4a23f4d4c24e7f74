/** Facts that a person needs after the start. */
export interface Welcome {
  readonly baseUrl: string;
  readonly data: string;
  /** Link for creating the first account. Missing if there is one. */
  readonly firstLink: string | undefined;
}

/** Returns the message at the end of a start: the address and how to sign in. */
export function welcomeText({ baseUrl, data, firstLink }: Welcome): string {
  const begin = firstLink
    ? `Create the first account in a browser. The link is valid for 7 days, once:\n\n  ${firstLink}`
    : `People sign in at ${baseUrl}`;
  return `
Podcast Sync is ready. Ctrl-C stops it; the data stays in ${data}.

  Address        ${baseUrl}       for all apps and for browsers
  API reference  ${baseUrl}/docs

${begin}

${clientsText(baseUrl)}

An app of the Open Podcast API asks for the address and opens the sign-in in a browser.
For a first call from a terminal:

TOKEN=$(npm run -s login -- --api ${baseUrl})
curl -H "Authorization: Bearer $TOKEN" ${baseUrl}/subscriptions
`;
}

/** Returns the settings of podcast apps, one app per line (docs/guide/connect-an-app.md). */
function clientsText(baseUrl: string): string {
  const signIn = 'then allow it in the browser';
  const typed = 'your name, an app password';
  const clients = [
    ['AntennaPod', `Settings > Synchronization > Nextcloud: ${baseUrl}, ${signIn}`],
    ['Cardo', `settings, sync with Nextcloud: ${baseUrl}, ${signIn}`],
    ['GNOME Podcasts', `preferences, sync with Nextcloud: ${baseUrl}, ${signIn}`],
    [
      'Kasts',
      `Settings > Synchronization > Login > gpodder.net: ${typed}; custom server ${baseUrl}`,
    ],
    ['gPodder', `Preferences > gpodder.net: server ${baseUrl}, ${typed}`],
    ['Music Assistant', `Settings > Providers > gPodder > gpodder server: ${baseUrl}, ${typed}`],
  ] as const;
  const lines = clients.map(([name, steps]) => `  ${name.padEnd(15)}  ${steps}`);
  return `Podcast apps that exist today sync by the gpodder API.
npm run -s app-password -- NAME prints an app password:

${lines.join('\n')}`;
}
