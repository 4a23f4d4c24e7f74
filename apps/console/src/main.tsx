import { render } from 'preact';
import { App, preloadPages } from './app.js';
import { episodeLoader, pendingChanges } from './data/episodes.js';
import { startLiveUpdates } from './data/live.updates.js';
import { retryUntilAnswered } from './data/network.js';
import { connect } from './data/session.js';
import { pending, subscriptionLoader } from './data/subscriptions.js';
import { language } from './texts/texts.js';
import '#ui/style.css';
import './style.css';

/** Delay between sign-in and the loading of other pages, in milliseconds. */
const preloadDelay = 1_500;

/** Maximum time that the first rendering waits for a token, in milliseconds. */
const maxTokenWait = 150;

document.documentElement.lang = language;
// Leaving the page discards unsent changes, so the browser asks for confirmation.
addEventListener('beforeunload', (event) => {
  if (pending.value.length + pendingChanges.value.length > 0) event.preventDefault();
});
void start();
void retryUntilAnswered(connect).then(
  () => {
    startLiveUpdates([subscriptionLoader, episodeLoader]);
    // The delay leaves network and processor to the first page.
    setTimeout(preloadPages, preloadDelay);
  },
  () => {},
);

/**
 * Requests the token and the first data, then renders. On a slow phone, rendering takes as long as
 * both requests, so it starts while the second one runs.
 */
async function start(): Promise<void> {
  subscriptionLoader.load().catch(() => {});
  const connected = connect().catch(() => {});
  await Promise.race([connected, new Promise((resolve) => setTimeout(resolve, maxTokenWait))]);
  // Sends the request for the data before the rendering.
  await new Promise((resolve) => setTimeout(resolve));
  const root = document.getElementById('console');
  if (root) render(<App />, root);
}
