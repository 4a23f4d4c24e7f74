import { render } from 'preact';
import { App, preload } from './app.js';
import { episodePulls } from './data/episodes.js';
import { beginLive, follow } from './data/live.js';
import { untilAnswered } from './data/network.js';
import { connect } from './data/session.js';
import { pending, subscriptionPulls } from './data/subscriptions.js';
import { language } from './texts/texts.js';
import '#ui/style.css';
import './style.css';

/** Delay between sign-in and the loading of other pages, in milliseconds. */
const preloadMs = 1_500;

/** Maximum time that the first rendering waits for a token, in milliseconds. */
const aloneMs = 150;

document.documentElement.lang = language;
follow(subscriptionPulls);
follow(episodePulls);
// Leaving the page discards unsent changes, so the browser asks for confirmation.
addEventListener('beforeunload', (event) => pending.value.length > 0 && event.preventDefault());
void begin();
void untilAnswered(connect).then(
  () => {
    beginLive();
    // The delay leaves network and processor to the first page.
    setTimeout(preload, preloadMs);
  },
  () => {},
);

/**
 * Requests the token and the first data, then renders. On a slow phone, rendering takes as long as
 * both requests, so it starts while the second one runs.
 */
async function begin(): Promise<void> {
  subscriptionPulls.begin().catch(() => {});
  const asked = connect().catch(() => {});
  await Promise.race([asked, new Promise((resolve) => setTimeout(resolve, aloneMs))]);
  await new Promise((resolve) => setTimeout(resolve));
  const root = document.getElementById('console');
  if (root) render(<App />, root);
}
