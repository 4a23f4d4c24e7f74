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

/** When the other pages are loaded, in milliseconds after somebody is known to be signed in. */
const preloadMs = 1_500;

/** How long a token is waited for before anything is drawn, in milliseconds. */
const aloneMs = 150;

document.documentElement.lang = language;
follow(subscriptionPulls);
follow(episodePulls);
// What is still to be sent goes with the page: the browser asks whether to leave.
addEventListener('beforeunload', (event) => pending.value.length > 0 && event.preventDefault());
void begin();
void untilAnswered(connect).then(
  () => {
    beginLive();
    // After what is on the screen.
    setTimeout(preload, preloadMs);
  },
  () => {},
);

/**
 * What takes the longest comes first: the token, then the first page. Drawing what is around it costs a slow phone as much
 * as both, and so begins when the second one is on its way.
 */
async function begin(): Promise<void> {
  subscriptionPulls.begin().catch(() => {});
  const asked = connect().catch(() => {});
  await Promise.race([asked, new Promise((resolve) => setTimeout(resolve, aloneMs))]);
  await new Promise((resolve) => setTimeout(resolve));
  const root = document.getElementById('console');
  if (root) render(<App />, root);
}
