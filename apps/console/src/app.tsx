import { signal } from '@preact/signals';
import { ErrorBoundary, lazy, LocationProvider, Route, Router, useLocation } from 'preact-iso';
import { useEffect } from 'preact/hooks';
import { Header } from '#ui';
import { isOnline } from './data/network.js';
import { isSignedOut, signInPath } from './data/session.js';
import { SubscriptionsPage } from './pages/subscriptions.js';
import { texts } from './texts/texts.js';
import { showCurrentTab } from './ui/current-tab.js';
import { Notice } from './ui/notice.js';
import { LoadFailure, Page } from './ui/page.js';

// The code of these pages is loaded when they are opened, so that the first page loads fast.
const HistoryPage = lazy(() => import('./pages/history.js').then(({ HistoryPage: page }) => page));
const PodcastPage = lazy(() => import('./pages/podcast.js').then(({ PodcastPage: page }) => page));
const NewEpisodesPage = lazy(() =>
  import('./pages/new-episodes.js').then(({ NewEpisodesPage: page }) => page),
);
const StatisticsPage = lazy(() =>
  import('./pages/statistics.js').then(({ StatisticsPage: page }) => page),
);
const DataPage = lazy(() => import('./pages/data.js').then(({ DataPage: page }) => page));

/** True after a page failed to load, because the server is unavailable or has a newer build. */
const hasLoadFailed = signal(false);

/** Loads the code of all pages before they are opened, so that they work offline. */
export function preloadPages(): void {
  for (const page of [PodcastPage, NewEpisodesPage, HistoryPage, StatisticsPage, DataPage])
    void page.preload().catch(() => {});
}

/** Renders the console: header, banner and the current page. */
export function App() {
  return (
    <LocationProvider scope="/console">
      <SiteHeader />
      <OutageBanner />
      <main id="content" tabIndex={-1}>
        {hasLoadFailed.value && <LoadFailure onRetry={() => location.reload()} />}
        <ErrorBoundary onError={() => (hasLoadFailed.value = true)}>
          <Router>
            <Route path="/console/" component={SubscriptionsPage} />
            <Route path="/console/podcast" component={PodcastPage} />
            <Route path="/console/new" component={NewEpisodesPage} />
            <Route path="/console/history" component={HistoryPage} />
            <Route path="/console/statistics" component={StatisticsPage} />
            <Route path="/console/data" component={DataPage} />
            <Route default component={NotFoundPage} />
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

function OutageBanner() {
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

function NotFoundPage() {
  return <Page title={texts.notFound}>{null}</Page>;
}
