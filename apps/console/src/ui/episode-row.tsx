import type { ComponentChildren } from 'preact';
import { Row } from '#ui';
import { type ListedEpisode, progressOf } from '../data/episode.rules.js';
import { locale, texts } from '../texts/texts.js';

const { history: t } = texts;

interface EpisodeRowProps {
  readonly episode: ListedEpisode;
  readonly picture?: ComponentChildren;
  readonly podcast?: ComponentChildren;
  readonly date: Date | undefined;
  /** Link that is shown after the title. */
  readonly link?: ComponentChildren;
  /** Buttons that also show if the episode is played or a favourite. Without them, tags show it. */
  readonly actions?: ComponentChildren;
}

/** Renders an episode as a list item, with its statuses. */
export function EpisodeRow({ episode, picture, podcast, date, link, actions }: EpisodeRowProps) {
  const { title, duration, playback_position, favorite_status, new_status } = episode;
  const position = playback_position?.value ?? 0;
  const progress = progressOf(episode);
  const podcastAndDate = (
    <>
      {podcast}
      {podcast !== undefined && date !== undefined && ' · '}
      {date !== undefined && <time dateTime={date.toISOString()}>{dateFormat.format(date)}</time>}
    </>
  );
  return (
    <Row name={title || t.untitled} picture={picture} tag={link} lines={[podcastAndDate]}>
      <div class="states small">
        {!actions && favorite_status?.value && <span class="tag star">{t.favorite}</span>}
        {!actions && progress === 'played' && <span class="tag">{t.played}</span>}
        {progress !== 'played' && new_status?.value && <span class="tag plain-tag">{t.isNew}</span>}
        {progress === 'started' && (
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
        {progress === 'new' && duration !== undefined && (
          <span class="quiet">{formatSeconds(duration)}</span>
        )}
      </div>
      {actions}
    </Row>
  );
}

const dateFormat = new Intl.DateTimeFormat(locale, { dateStyle: 'medium' });

/** Formats a duration as `1:02:03` or `2:03`. */
function formatSeconds(seconds: number): string {
  const wholeSeconds = Math.floor(seconds);
  const [hours, minutes] = [Math.floor(wholeSeconds / 3_600), Math.floor(wholeSeconds / 60) % 60];
  const padToTwoDigits = (value: number) => String(value).padStart(2, '0');
  return hours > 0
    ? `${hours}:${padToTwoDigits(minutes)}:${padToTwoDigits(wholeSeconds % 60)}`
    : `${minutes}:${padToTwoDigits(wholeSeconds % 60)}`;
}
