import { useSignal } from '@preact/signals';
import { useCallback, useEffect } from 'preact/hooks';
import { Row } from '#ui';
import {
  type Episode,
  episodePulls,
  episodes,
  isComplete,
  loadOlder,
  total,
} from '../data/episodes.js';
import { rowOf, subscriptionPulls } from '../data/subscriptions.js';
import { locale, texts } from '../texts/texts.js';
import { podcastName } from '../ui/feed.js';
import { Failure, Page } from '../ui/page.js';
import { WindowedList } from '../ui/window.js';

const { listened: t } = texts;

/** Renders the episodes with their states, the newest first. Scrolling loads more. */
export function Listened() {
  const failed = useSignal(false);
  const begin = useCallback(() => {
    failed.value = false;
    episodePulls.begin().catch(() => (failed.value = true));
    // The rows show the names of their podcasts.
    subscriptionPulls.begin().catch(() => {});
  }, []);
  useEffect(begin, []);
  const more = useCallback(() => void loadOlder().catch(() => {}), []);
  const items = episodes.value;
  const all = total.value;
  return (
    <Page title={t.title} lead={t.lead}>
      <section class="card list">
        <p class="quiet small count" role="status">
          {all === undefined
            ? failed.value
              ? ''
              : texts.loading
            : t.count(isComplete.value ? items.length : all)}
        </p>
        {failed.value && <Failure onRetry={begin} />}
        {isComplete.value && items.length === 0 ? (
          <p class="empty">{t.none}</p>
        ) : (
          !failed.value && (
            <WindowedList
              label={t.list}
              isTall
              items={items}
              expected={isComplete.value ? 0 : (all ?? 8)}
              keyOf={({ sync_id }) => sync_id}
              row={(episode) => <EpisodeRow episode={episode} />}
              onEnd={more}
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
  const podcast = rowOf(podcast_guid);
  const when = latestOf(episode);
  const line = (
    <>
      {podcast === undefined ? t.unknownFeed : <bdi>{podcastName(podcast)}</bdi>}
      {when !== undefined && (
        <>
          {' · '}
          <time dateTime={when.toISOString()}>{day.format(when)}</time>
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
                aria-valuetext={t.of(clock(position), clock(duration))}
              />
            )}
            <span class="quiet">
              {duration === undefined
                ? t.at(clock(position))
                : t.of(clock(position), clock(duration))}
            </span>
          </span>
        )}
      </div>
    </Row>
  );
}

const day = new Intl.DateTimeFormat(locale, { dateStyle: 'medium' });

/** Returns the latest time at which a client changed a state of the episode. */
function latestOf({
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

function clock(seconds: number): string {
  const whole = Math.floor(seconds);
  const [hours, minutes] = [Math.floor(whole / 3_600), Math.floor(whole / 60) % 60];
  const two = (part: number) => String(part).padStart(2, '0');
  return hours > 0
    ? `${hours}:${two(minutes)}:${two(whole % 60)}`
    : `${minutes}:${two(whole % 60)}`;
}
