/** What a person needs to know once everything runs. */
export interface Welcome {
  readonly baseUrl: string;
  readonly data: string;
  /** Where the first account is made, once; absent where there is one. */
  readonly firstLink: string | undefined;
}

/** The end of a start: where it is, and how a person gets in. */
export function welcomeText({ baseUrl, data, firstLink }: Welcome): string {
  const begin = firstLink
    ? `Make the first account in a browser. This link works once, and for seven days:\n\n  ${firstLink}`
    : `People sign in at ${baseUrl}`;
  return `
Podcast Sync is ready. Ctrl-C stops it; its data stays in ${data}.

  Address        ${baseUrl}       for every app, and for people in a browser
  API reference  ${baseUrl}/docs

${begin}

${clientsText(baseUrl)}

An app of the Open Podcast API asks for the address and opens the sign-in by itself. For a first call from a terminal:

TOKEN=$(npm run -s login -- --api ${baseUrl})
curl -H "Authorization: Bearer $TOKEN" ${baseUrl}/subscriptions
`;
}

/** What people type into the podcast apps of today, one app a line; docs/guide/connect-an-app.md has every step. */
function clientsText(baseUrl: string): string {
  const signIn = 'then allow it in the browser';
  const typed = 'your name, an app password';
  const clients = [
    ['AntennaPod', `Settings > Synchronization > Nextcloud: ${baseUrl}, ${signIn}`],
    ['Cardo', `settings, sync with Nextcloud: ${baseUrl}, ${signIn}`],
    ['GNOME Podcasts', `preferences, sync with Nextcloud: ${baseUrl}, ${signIn}`],
    ['Kasts', `Settings > Synchronization > Login > gpodder.net: ${typed}; custom server ${baseUrl}`],
    ['gPodder', `Preferences > gpodder.net: server ${baseUrl}, ${typed}`],
    ['Music Assistant', `Settings > Providers > gPodder > gpodder server: ${baseUrl}, ${typed}`],
  ] as const;
  const lines = clients.map(([name, steps]) => `  ${name.padEnd(15)}  ${steps}`);
  return `Podcast apps of today sync by the gpodder API; npm run -s app-password -- NAME prints an app password:

${lines.join('\n')}`;
}
