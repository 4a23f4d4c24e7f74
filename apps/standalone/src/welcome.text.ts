import { defaultData } from './standalone.options.js';

/** What a person needs to know once everything runs. */
export interface Welcome {
  readonly baseUrl: string;
  readonly data: string;
  readonly user: string;
  readonly token: string;
}

/** The end of a start: where it is, and a first call to paste. */
export function welcomeText({ baseUrl, data, user, token }: Welcome): string {
  const others = `npm run -s token -- USER${data === defaultData ? '' : ` --data ${data}`}`;
  return `
Podcast Sync is ready. Ctrl-C stops it; its data stays in ${data}.

  Base URL       ${baseUrl}
  API reference  ${baseUrl}/docs

A token for ${user} (for others: ${others}), and a first call:

TOKEN=${token}
curl -H "Authorization: Bearer $TOKEN" ${baseUrl}/subscriptions
`;
}
