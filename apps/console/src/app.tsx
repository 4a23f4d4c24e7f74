import { signal } from '@preact/signals';
import { ErrorBoundary, lazy, LocationProvider, Route, Router, useLocation } from 'preact-iso';
import { isOnline } from './data/network.js';
import { hasNoApi, isSignedOut, signInPath, user } from './data/session.js';
import { Subscriptions } from './pages/subscriptions.js';
import { texts } from './texts/texts.js';
import { Notice } from './ui/notice.js';
import { Page } from './ui/page.js';

// What is not needed for the first row comes when it is opened.
const Listened = lazy(() => import('./pages/listened.js').then(({ Listened: page }) => page));
const Data = lazy(() => import('./pages/data.js').then(({ Data: page }) => page));

/** A page that could not be loaded: the server was away, or has a newer console by now. */
const isBroken = signal(false);

/** Loads the other pages, so that they are there when the network is not. */
export function preload(): void {
  for (const page of [Listened, Data]) void page.preload().catch(() => {});
}

/** The whole console: what is around its pages, and the pages. */
export function App() {
  return (
    <LocationProvider scope="/console">
      <a class="skip" href="#content">
        {texts.skip}
      </a>
      <Header />
      <Banner />
      <main id="content" tabIndex={-1}>
        {isBroken.value && <Broken />}
        <ErrorBoundary onError={() => (isBroken.value = true)}>
          <Router>
            <Route path="/console/" component={Subscriptions} />
            <Route path="/console/listened" component={Listened} />
            <Route path="/console/data" component={Data} />
            <Route default component={NotFound} />
          </Router>
        </ErrorBoundary>
      </main>
      <Notice />
    </LocationProvider>
  );
}

const pages = [
  ['/console/', texts.nav.subscriptions],
  ['/console/listened', texts.nav.listened],
  ['/console/data', texts.nav.data],
] as const;

const isSame = (path: string, to: string) => path.replace(/\/$/, '') === to.replace(/\/$/, '');

function Header() {
  const { path } = useLocation();
  const name = user.value?.name;
  return (
    <header class="top">
      <a class="brand" href="/console/">
        <svg viewBox="0 0 32 32" aria-hidden="true">
          <rect class="plate" width="32" height="32" rx="9" />
          <path class="wave" d="M8 13.5v5M13.3 9.5v13M18.6 12v8M24 14.5v3" />
        </svg>
        {texts.product}
      </a>
      <nav aria-label={texts.nav.label}>
        {pages.map(([to, title]) => (
          <a key={to} href={to} aria-current={isSame(path, to) ? 'page' : undefined}>
            {title}
          </a>
        ))}
        <a href="/" title={name ?? undefined}>
          {texts.nav.account}
        </a>
      </nav>
      <form method="post" action="/sign-out">
        <button class="bare">{texts.signOut}</button>
      </form>
    </header>
  );
}

/** What concerns every page: no network, or nobody signed in any more. */
function Banner() {
  return (
    <div class="banner" role="status">
      {isSignedOut.value ? (
        <p class="notice bad">
          {texts.signedOut} <a href={signInPath()}>{texts.signInAgain}</a>
        </p>
      ) : hasNoApi.value ? (
        <p class="notice bad">{texts.noApi}</p>
      ) : (
        !isOnline.value && <p class="notice">{texts.offline}</p>
      )}
    </div>
  );
}

function Broken() {
  return (
    <div role="alert">
      <p class="notice bad">{texts.failed}</p>
      <button onClick={() => location.reload()}>{texts.retry}</button>
    </div>
  );
}

function NotFound() {
  return <Page title={texts.notFound}>{null}</Page>;
}
