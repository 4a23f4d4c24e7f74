import { render } from 'preact';
import { App, preloadPages } from './app.js';
import { episodeLoader, pendingEpisodeChanges } from './data/episodes.js';
import { startLiveUpdates } from './data/live-updates.js';
import { retryUntilAnswered } from './data/network.js';
import { apiOfUser } from './data/session.js';
import { pendingSubscriptionChanges, subscriptionLoader } from './data/subscriptions.js';
import { language } from './texts/texts.js';
import '#ui/style.css';
import './style.css';

/** Milliseconds after the first token until the code of other pages is loaded. */
const preloadDelay = 1_500;

/** Maximum time that the first rendering waits for a token, in milliseconds. */
const maxTokenWait = 150;

document.documentElement.lang = language;
// Leaving the page discards unsent changes, so the browser asks for confirmation.
addEventListener('beforeunload', (event) => {
  if (pendingSubscriptionChanges.value.length + pendingEpisodeChanges.value.length > 0)
    event.preventDefault();
});
void start();
void retryUntilAnswered(apiOfUser).then(
  () => {
    startLiveUpdates([subscriptionLoader, episodeLoader]);
    // Loads the code of other pages later, so that the first page gets network and processor.
    setTimeout(preloadPages, preloadDelay);
  },
  () => {},
);

/**
 * Requests the token and the first data, then renders. On a slow phone, the rendering takes as long
 * as both requests, so it starts while the request for the data runs.
 */
async function start(): Promise<void> {
  subscriptionLoader.load().catch(() => {});
  const tokenRequest = apiOfUser().catch(() => {});
  await Promise.race([tokenRequest, new Promise((resolve) => setTimeout(resolve, maxTokenWait))]);
  // Yields, so that the request for the data is sent before the rendering starts.
  await new Promise((resolve) => setTimeout(resolve));
  const root = document.getElementById('console');
  if (root) render(<App />, root);
}
