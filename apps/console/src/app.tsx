import { signal } from '@preact/signals';
import { ErrorBoundary, lazy, LocationProvider, Route, Router, useLocation } from 'preact-iso';
import { useEffect } from 'preact/hooks';
import { Header } from '#ui';
import { isOnline } from './data/network.js';
import { isSignedOut, signInPath } from './data/session.js';
import { Subscriptions } from './pages/subscriptions.js';
import { texts } from './texts/texts.js';
import { showCurrentTab } from './ui/current.tab.js';
import { Notice } from './ui/notice.js';
import { Failure, Page } from './ui/page.js';

// The first view does not need these pages, so they are loaded when opened.
const History = lazy(() => import('./pages/history.js').then(({ History: page }) => page));
const Podcast = lazy(() => import('./pages/podcast.js').then(({ Podcast: page }) => page));
const New = lazy(() => import('./pages/new.js').then(({ New: page }) => page));
const Statistics = lazy(() => import('./pages/statistics.js').then(({ Statistics: page }) => page));
const Data = lazy(() => import('./pages/data.js').then(({ Data: page }) => page));

/** True if a page failed to load: the server is unavailable, or has a newer build. */
const hasLoadFailed = signal(false);

/** Loads the code of the other pages, so that they work offline. */
export function preloadPages(): void {
  for (const page of [Podcast, New, History, Statistics, Data]) void page.preload().catch(() => {});
}

/** Renders the console: header, banner and the current page. */
export function App() {
  return (
    <LocationProvider scope="/console">
      <SiteHeader />
      <Banner />
      <main id="content" tabIndex={-1}>
        {hasLoadFailed.value && <Failure onRetry={() => location.reload()} />}
        <ErrorBoundary onError={() => (hasLoadFailed.value = true)}>
          <Router>
            <Route path="/console/" component={Subscriptions} />
            <Route path="/console/podcast" component={Podcast} />
            <Route path="/console/new" component={New} />
            <Route path="/console/history" component={History} />
            <Route path="/console/statistics" component={Statistics} />
            <Route path="/console/data" component={Data} />
            <Route default component={NotFound} />
          </Router>
        </ErrorBoundary>
      </main>
      <Notice />
    </LocationProvider>
  );
}

function SiteHeader() {
  const { path } = useLocation();
  useEffect(showCurrentTab, [path]);
  return <Header texts={texts} isSignedIn current={path} />;
}

function Banner() {
  return (
    <div class="banner" role="status">
      {isSignedOut.value ? (
        <p class="notice bad">
          {texts.sessionEnded} <a href={signInPath()}>{texts.signInAgain}</a>
        </p>
      ) : (
        !isOnline.value && <p class="notice">{texts.offline}</p>
      )}
    </div>
  );
}

function NotFound() {
  return <Page title={texts.notFound}>{null}</Page>;
}
