import { useSignal } from '@preact/signals';
import { useCallback, useEffect } from 'preact/hooks';
import { Row } from '#ui';
import {
  type Episode,
  episodeLoader,
  episodes,
  isComplete,
  loadOlderEpisodes,
  total,
} from '../data/episodes.js';
import { subscriptionByGuid, subscriptionLoader } from '../data/subscriptions.js';
import { locale, texts } from '../texts/texts.js';
import { podcastName } from '../ui/feed.name.js';
import { Failure, Page } from '../ui/page.js';
import { WindowedList } from '../ui/windowed-list.js';

const { history: t } = texts;

/** Renders the episodes with their states, the newest first. Scrolling loads more. */
export function History() {
  const hasFailed = useSignal(false);
  const load = useCallback(() => {
    hasFailed.value = false;
    episodeLoader.load().catch(() => (hasFailed.value = true));
    // The rows show the names of their podcasts.
    subscriptionLoader.load().catch(() => {});
  }, []);
  useEffect(load, []);
  const loadMore = useCallback(() => void loadOlderEpisodes().catch(() => {}), []);
  const items = episodes.value;
  const all = total.value;
  return (
    <Page title={t.title} lead={t.lead}>
      <section class="card list">
        <p class="quiet small count" role="status">
          {all === undefined
            ? hasFailed.value
              ? ''
              : texts.loading
            : t.count(isComplete.value ? items.length : all)}
        </p>
        {hasFailed.value && <Failure onRetry={load} />}
        {isComplete.value && items.length === 0 ? (
          <p class="empty">{t.none}</p>
        ) : (
          !hasFailed.value && (
            <WindowedList
              label={t.list}
              isTall
              items={items}
              expected={isComplete.value ? 0 : (all ?? 8)}
              keyOf={({ sync_id }) => sync_id}
              row={(episode) => <EpisodeRow episode={episode} />}
              onEnd={loadMore}
            />
          )
        )}
        {isComplete.value && items.length > 0 && <p class="quiet small">{t.end}</p>}
      </section>
    </Page>
  );
}

function EpisodeRow({ episode }: { episode: Episode }) {
  const {
    title,
    duration,
    playback_position,
    played_status,
    favorite_status,
    new_status,
    podcast_guid,
  } = episode;
  const position = playback_position?.value ?? 0;
  const isPlayed = played_status?.value === true;
  const podcast = subscriptionByGuid(podcast_guid);
  const changedAt = latestChangeOf(episode);
  const line = (
    <>
      {podcast === undefined ? t.unknownFeed : <bdi>{podcastName(podcast)}</bdi>}
      {changedAt !== undefined && (
        <>
          {' · '}
          <time dateTime={changedAt.toISOString()}>{dateFormat.format(changedAt)}</time>
        </>
      )}
    </>
  );
  return (
    <Row name={title === '' ? t.untitled : title} lines={[line]}>
      <div class="states small">
        {favorite_status?.value && <span class="tag star">{t.favorite}</span>}
        {isPlayed && <span class="tag">{t.played}</span>}
        {!isPlayed && new_status?.value && <span class="tag plain-tag">{t.isNew}</span>}
        {position > 0 && !isPlayed && (
          <span class="position">
            {duration !== undefined && (
              <progress
                max={duration}
                value={Math.min(position, duration)}
                aria-label={t.position}
                aria-valuetext={t.of(formatSeconds(position), formatSeconds(duration))}
              />
            )}
            <span class="quiet">
              {duration === undefined
                ? t.at(formatSeconds(position))
                : t.of(formatSeconds(position), formatSeconds(duration))}
            </span>
          </span>
        )}
      </div>
    </Row>
  );
}

const dateFormat = new Intl.DateTimeFormat(locale, { dateStyle: 'medium' });

/** Returns the time of the latest change of the episode's states. */
function latestChangeOf({
  playback_position,
  played_status,
  favorite_status,
  new_status,
  download_status,
}: Episode): Date | undefined {
  const states = [playback_position, played_status, favorite_status, new_status, download_status];
  const stamps = states.flatMap((state) => (state ? [state.timestamp] : []));
  const last = stamps.sort().at(-1);
  // The API returns minutes in UTC without a time zone.
  return last === undefined ? undefined : new Date(last.length === 16 ? `${last}Z` : last);
}

/** Returns `1:02:03` or `2:03`. */
function formatSeconds(seconds: number): string {
  const whole = Math.floor(seconds);
  const [hours, minutes] = [Math.floor(whole / 3_600), Math.floor(whole / 60) % 60];
  const two = (part: number) => String(part).padStart(2, '0');
  return hours > 0
    ? `${hours}:${two(minutes)}:${two(whole % 60)}`
    : `${minutes}:${two(whole % 60)}`;
}
