import { renderUnicodeCompact } from 'uqr';

/** Facts that `podcast-sync start` prints when all parts are ready. */
export interface Welcome {
  readonly baseUrl: string;
  /** Path of the data directory. */
  readonly data: string;
  /** Link for creating the first account; `undefined` if an account exists. */
  readonly firstLink: string | undefined;
}

/**
 * Returns the message at the end of a start: the address and what to do next.
 *
 * @param isTerminal true for a QR code. A local address gets none: a phone cannot reach it.
 */
export function welcomeText({ baseUrl, data, firstLink }: Welcome, isTerminal = false): string {
  const connectUrl = `${baseUrl}/connect`;
  const firstStep = firstLink
    ? `Create the first account in a browser. The link is valid for 7 days, once:\n\n  ${firstLink}`
    : `Sign in and connect a podcast app:\n\n  ${connectUrl}`;
  const isReachable = !['127.0.0.1', 'localhost', '[::1]'].includes(new URL(baseUrl).hostname);
  const phoneNote = isReachable
    ? ''
    : '\nA phone cannot reach this address. For a phone: npm start -- --host 0.0.0.0\n';
  const qrCode =
    isTerminal && isReachable ? `\n${renderUnicodeCompact(firstLink ?? connectUrl)}\n` : '';
  return `
Podcast Sync is ready. Ctrl-C stops it; the data stays in ${data}.

  Address        ${baseUrl}       for all apps and for browsers
  API reference  ${baseUrl}/docs

${firstStep}
${phoneNote}${qrCode}
AntennaPod, Kasts, gPodder, Music Assistant, Cardo and GNOME Podcasts: ${connectUrl}
has the steps of each app.

An app of the Open Podcast API asks for the address and opens the sign-in in a browser.
For a first call from a terminal:

TOKEN=$(npm run -s login -- --api ${baseUrl})
curl -H "Authorization: Bearer $TOKEN" ${baseUrl}/subscriptions
`;
}
