import { useComputed, useSignal } from '@preact/signals';
import { useCallback, useEffect } from 'preact/hooks';
import { Card, Row } from '#ui';
import {
  areAllEpisodesLoaded,
  episodes,
  loadAllEpisodes,
  loadedEpisodeCount,
  totalEpisodes,
} from '../data/episodes.js';
import { podcastLoader, podcastName } from '../data/podcasts.js';
import {
  type Period,
  type Statistics as ListeningStatistics,
  statisticsOf,
} from '../data/statistics.rules.js';
import {
  areAllSubscriptionsLoaded,
  subscriptionByGuid,
  subscriptionLoader,
} from '../data/subscriptions.js';
import { locale, texts } from '../texts/texts.js';
import { Choice } from '../ui/choice.js';
import { LoadFailure, Page } from '../ui/page.js';
import { Picture } from '../ui/picture.js';
import { Plot } from '../ui/plot.js';

const { statistics: t } = texts;

/** Maximum number of loaded episodes, which take about 100 MB. The page ignores older episodes. */
const maxEpisodes = 100_000;
const maxTopPodcasts = 20;

type HoursView = 'plot' | 'table';

const weekFormat = new Intl.DateTimeFormat(locale, { dateStyle: 'medium' });
const monthFormat = new Intl.DateTimeFormat(locale, { month: 'long', year: 'numeric' });
const hourFormat = new Intl.NumberFormat(locale, {
  style: 'unit',
  unit: 'hour',
  unitDisplay: 'long',
  maximumFractionDigits: 1,
});

const formatHours = (seconds: number) => hourFormat.format(seconds / 3_600);

/** Renders the hours that the listener heard, by week and by podcast. */
export function StatisticsPage() {
  const hasFailed = useSignal(false);
  // The list of top podcasts needs each subscription's title or URL. Publishers' titles can arrive
  // later.
  const isReady = useComputed(
    () =>
      areAllSubscriptionsLoaded.value &&
      (areAllEpisodesLoaded.value || loadedEpisodeCount.value >= maxEpisodes),
  ).value;
  const load = useCallback(() => {
    hasFailed.value = false;
    for (const request of [loadAllEpisodes(maxEpisodes), subscriptionLoader.load()])
      request.catch(() => (hasFailed.value = true));
    podcastLoader.load().catch(() => {});
  }, []);
  useEffect(load, []);
  return (
    <Page title={t.title} lead={t.lead}>
      {isReady ? (
        <StatisticsResults />
      ) : (
        <section class="card">
          {hasFailed.value ? <LoadFailure onRetry={load} /> : <StatisticsLoading />}
        </section>
      )}
    </Page>
  );
}

function StatisticsLoading() {
  const expectedCount = Math.min(totalEpisodes.value ?? 0, maxEpisodes);
  return (
    <>
      <p class="quiet small count">
        {expectedCount === 0
          ? texts.loading
          : texts.subscriptions.progress(loadedEpisodeCount.value, expectedCount)}
      </p>
      {expectedCount > 0 && (
        <progress max={expectedCount} value={loadedEpisodeCount.value} aria-label={t.loading} />
      )}
    </>
  );
}

function StatisticsResults() {
  const period = useSignal<Period>('weeks');
  const view = useSignal<HoursView>('plot');
  const statistics = useComputed(() =>
    statisticsOf(episodes.value, period.value, new Date()),
  ).value;
  return (
    <>
      <section class="card list">
        <div class="tools">
          <Choice
            id="period"
            label={t.period}
            options={t.periods}
            value={period.value}
            onChoice={(value) => (period.value = value)}
          />
          <Choice
            id="view"
            label={texts.subscriptions.show}
            options={t.views}
            value={view.value}
            onChoice={(value) => (view.value = value)}
          />
        </div>
        <p class="sum" role="status">
          {statistics.seconds > 0 ? t.sum(formatHours(statistics.seconds)) : t.none}
        </p>
        {statistics.seconds > 0 && (
          <ListeningHours
            key={period.value}
            bars={statistics.bars}
            isByWeek={period.value !== 'all'}
            view={view.value}
          />
        )}
        {statistics.uncounted > 0 && <p class="quiet small">{t.uncounted(statistics.uncounted)}</p>}
        {!areAllEpisodesLoaded.value && <p class="quiet small">{t.bound(maxEpisodes)}</p>}
      </section>
      {statistics.podcasts.length > 0 && <TopPodcasts podcasts={statistics.podcasts} />}
    </>
  );
}

interface ListeningHoursProps extends Pick<ListeningStatistics, 'bars'> {
  readonly isByWeek: boolean;
  readonly view: HoursView;
}

/** Renders the bars as a plot or as a table. Screen readers get the table in both views. */
function ListeningHours({ bars, isByWeek, view }: ListeningHoursProps) {
  const dateFormat = isByWeek ? weekFormat : monthFormat;
  const plottedBars = bars.map(({ start, seconds }) => {
    const label = dateFormat.format(start);
    const hours = formatHours(seconds);
    const text = `${isByWeek ? t.weekFrom(label) : label}: ${hours}`;
    return { label, hours, text, value: seconds / 3_600 };
  });
  return (
    <>
      {view === 'plot' && <Plot label={isByWeek ? t.byWeek : t.byMonth} bars={plottedBars} />}
      <div class={view === 'plot' ? 'hidden' : undefined}>
        <table>
          <caption>{isByWeek ? t.byWeek : t.byMonth}</caption>
          <thead>
            <tr>
              <th scope="col">{isByWeek ? t.week : t.month}</th>
              <th scope="col">{t.hours}</th>
            </tr>
          </thead>
          <tbody>
            {plottedBars.toReversed().map(({ label, hours }) => (
              <tr key={label}>
                <th scope="row">{label}</th>
                <td>{hours}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function TopPodcasts({ podcasts }: Pick<ListeningStatistics, 'podcasts'>) {
  const [[, mostSeconds] = ['', 0]] = podcasts;
  return (
    <Card title={t.podcasts(Math.min(podcasts.length, maxTopPodcasts))}>
      <ul class="rows top" role="list">
        {podcasts.slice(0, maxTopPodcasts).map(([guid, seconds]) => {
          const podcast = subscriptionByGuid(guid);
          const name = podcast ? podcastName(podcast) : texts.history.unknownFeed;
          return (
            <li key={guid}>
              <Row
                name={name}
                {...(podcast && { href: `/console/podcast?guid=${guid}` })}
                picture={<Picture guid={guid} name={name} />}
                lines={[formatHours(seconds)]}
              >
                <span class="share" aria-hidden="true">
                  <span style={{ width: `${(100 * seconds) / mostSeconds}%` }} />
                </span>
              </Row>
            </li>
          );
        })}
      </ul>
    </Card>
  );
}
