// A podcast app on the SDK (libs/client): it works offline. A sync uploads local
// changes and downloads those of other devices.
// Run it after `npm run build`, with `npm start` in another terminal:
//   node docs/examples/player.mjs phone.json subscribe https://podnews.net/rss
//   node docs/examples/player.mjs phone.json play https://podnews.net/rss ep-2 90
//   node docs/examples/player.mjs phone.json watch    prints changes of all devices, until Ctrl+C
// The first command signs in with a link and a code. TOKEN (`npm run -s token -- ann`) replaces the
// sign-in. API is the URL of the server. `#client` exists in this checkout only: your own app
// imports from 'podcast-sync-client' and 'podcast-sync-client/file'.
import { ApiError, createApi, SignIn, SyncClient } from '#client';
import { fileStore } from '#client/file';

const { API = 'http://127.0.0.1:3000', TOKEN } = process.env;
const [file = 'player.json', command = 'watch', feed, episode, seconds] = process.argv.slice(2);

const store = fileStore(file);
const signIn = new SignIn({ api: API, store, clientName: 'Example player' });
const api = createApi({ baseUrl: API, token: TOKEN ? () => TOKEN : signIn.token });
const client = new SyncClient({ api, store });

client.onFailure(({ code, message, podcast }) =>
  console.error(`Rejected (${code}): ${message}, ${podcast}`),
);
client.onError((error) => console.error(`Not synced: ${error.message}`));

if (!TOKEN && !(await signIn.isSignedIn())) {
  await signIn.device(({ user_code, verification_uri }) =>
    console.log(`Open ${verification_uri} and enter ${user_code}`),
  );
}

/** Prints the state of this device, one line for each podcast and episode. */
async function show() {
  for (const { guid, feed_url, is_subscribed, pending } of await client.subscriptions()) {
    console.log(`${is_subscribed ? '●' : '○'} ${feed_url}${pending ? ' (not sent yet)' : ''}`);
    const episodes = await client.episodes(guid);
    for (const { title, episode_guid, playback_position: position } of episodes)
      console.log(`    ${title || episode_guid}: ${position?.value ?? 0} s`);
  }
}

if (command === 'watch') {
  let shown = Promise.resolve();
  client.onChange(() => (shown = shown.then(show)));
  client.start();
  process.once('SIGINT', () => void client.stop());
} else {
  if (command === 'subscribe') await client.subscribe(feed);
  if (command === 'unsubscribe') await client.unsubscribe(await client.subscribe(feed));
  if (command === 'play') {
    const podcast = await client.subscribe(feed);
    await client.setPosition(podcast, { episode_guid: episode }, Number(seconds));
  }
  // Without a network the changes stay stored, and the next command sends them.
  await client.sync().catch((error) => {
    if (!(error instanceof ApiError)) throw error;
    console.error(`Not synced: ${error.message}`);
  });
  await show();
}
