import type { FeedServer } from './feed-server.js';

/** The name and the password of the account. The password has no other use in tests. */
export const [login, password] = ['ann', 'password-of-another-server'] as const;

/** An account of a served gpodder API. */
export interface SourceAccount {
  /** Base URL of the server with a path, as the user enters it. */
  readonly url: string;
  /** The requested paths with their queries. */
  readonly requests: string[];
  /** Answers wait while this is pending. */
  blocked: Promise<void> | undefined;
}

/** Returns the URL of a feed of the account. */
export const feed = (number: number) => `https://${number}.example/feed`;

/**
 * Serves an account of the gpodder API: two feeds with titles, three actions in two answers, of
 * which one is invalid, and a favourite.
 */
export function serveAccount(server: FeedServer, folder: string): SourceAccount {
  const account: SourceAccount = { url: server.url(folder), requests: [], blocked: undefined };
  const expected = `Basic ${Buffer.from(`${login}:${password}`).toString('base64')}`;
  const serve = (path: string, answer: (since: string | null) => unknown) =>
    server.on(folder + path, async ({ url = '', headers }, response) => {
      if (headers.authorization !== expected) return void response.writeHead(401).end();
      account.requests.push(url);
      await account.blocked;
      response.end(JSON.stringify(answer(new URL(url, 'http://x').searchParams.get('since'))));
    });
  const action = (number: number) => ({
    podcast: feed(0),
    episode: `https://a.example/${number}.mp3`,
    guid: `g-${number}`,
    action: 'play',
    timestamp: '2024-03-01T12:00:05',
    started: 0,
    position: 60,
    total: 600,
  });
  serve('/api/2/devices/ann.json', () => []);
  serve('/subscriptions/ann.json', () => [{ url: feed(0), title: 'Zero' }, feed(1), 'nonsense']);
  serve('/api/2/episodes/ann.json', (since) => {
    if (since === '0') return { actions: [action(0), { podcast: feed(0) }], timestamp: 5 };
    return { actions: since === '5' ? [action(1)] : [], timestamp: 7 };
  });
  serve('/api/2/favorites/ann.json', () => [
    { url: 'https://a.example/1.mp3', podcast_url: feed(0) },
  ]);
  return account;
}
