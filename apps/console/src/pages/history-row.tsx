import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import type { EpisodeStates } from '#client';
import { dateOfChange, lastChangeOf, pageUrlOf } from '../data/episode.rules.js';
import { changeEpisode, type Episode } from '../data/episodes.js';
import { podcastName } from '../data/podcasts.js';
import { subscriptionByGuid } from '../data/subscriptions.js';
import { texts } from '../texts/texts.js';
import { EpisodeRow } from '../ui/episode-row.js';
import { showNotice, showUndo } from '../ui/notice.js';

const { history: t } = texts;

/** Contents of the icons: lines in a square of 24 x 24 units. */
const iconPaths = {
  page: <path d="M14 4h6v6M20 4l-9 9M18 14v5a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1V7a1 1 0 0 1 1-1h5" />,
  reset: <path d="M6 5v14M19 5v14L9 12z" />,
  star: <path d="m12 3.5 2.6 5.4 5.9.8-4.3 4.1 1 5.9-5.2-2.8-5.2 2.8 1-5.9-4.3-4.1 5.9-.8z" />,
  check: (
    <>
      <circle cx="12" cy="12" r="9" />
      <path class="mark" d="m8 12.5 2.8 2.8L16 9.5" />
    </>
  ),
};

function Icon({ children }: { children: ComponentChildren }) {
  return (
    <svg viewBox="0 0 24 24" aria-hidden="true">
      {children}
    </svg>
  );
}

interface HistoryRowProps {
  readonly episode: Episode;
  /** Called before an action of the row changes the episode. */
  onBeforeChange(): void;
}

/** Renders an episode of the history with its actions and a link to its page. */
export function HistoryRow({ episode, onBeforeChange }: HistoryRowProps) {
  const podcast = subscriptionByGuid(episode.podcast_guid);
  const pageUrl = pageUrlOf(episode);
  return (
    <EpisodeRow
      episode={episode}
      podcast={podcast === undefined ? t.unknownFeed : <bdi>{podcastName(podcast)}</bdi>}
      date={dateOfChange(lastChangeOf(episode))}
      link={
        pageUrl !== undefined && (
          <a
            class="icon"
            href={pageUrl}
            target="_blank"
            rel="noopener noreferrer"
            title={t.openPage}
            aria-label={`${t.openPage}: ${shortenTitle(episode)}`}
          >
            <Icon>{iconPaths.page}</Icon>
          </a>
        )
      }
      actions={<EpisodeActions episode={episode} onBeforeChange={onBeforeChange} />}
    />
  );
}

function EpisodeActions({ episode, onBeforeChange }: HistoryRowProps) {
  const shownTitle = shortenTitle(episode);
  const isPlayed = episode.played_status?.value === true;
  const isFavorite = episode.favorite_status?.value === true;
  const position = episode.playback_position?.value ?? 0;
  // The reset button stays after a reset, because it has the focus.
  const wasReset = useSignal(false);
  /** Returns a handler that sets `states`. Undo sets `before` and focuses the button again. */
  const createHandler =
    (text: string, states: EpisodeStates, before: EpisodeStates) => (button: HTMLElement) => {
      onBeforeChange();
      void changeAndReport(episode, states);
      showUndo(`${text}: ${shownTitle}`, () => {
        void changeAndReport(episode, before);
        button.focus();
      });
    };
  const setPlayed = createHandler(
    isPlayed ? t.done.notPlayed : t.done.played,
    { played_status: !isPlayed },
    { played_status: isPlayed },
  );
  const setFavorite = createHandler(
    isFavorite ? t.done.notFavorite : t.done.favorite,
    { favorite_status: !isFavorite },
    { favorite_status: isFavorite },
  );
  const reset = createHandler(
    t.done.reset,
    { playback_position: 0 },
    { playback_position: position },
  );
  return (
    <div class="icons">
      {(position > 0 || wasReset.value) && (
        <ActionButton
          label={t.reset}
          episodeName={shownTitle}
          isDisabled={position === 0}
          onPress={(button) => {
            wasReset.value = true;
            reset(button);
          }}
        >
          {iconPaths.reset}
        </ActionButton>
      )}
      <ActionButton
        label={t.favorite}
        episodeName={shownTitle}
        isOn={isFavorite}
        onPress={setFavorite}
      >
        {iconPaths.star}
      </ActionButton>
      <ActionButton label={t.played} episodeName={shownTitle} isOn={isPlayed} onPress={setPlayed}>
        {iconPaths.check}
      </ActionButton>
    </div>
  );
}

/** Changes an episode, and shows a notice if the server does not apply the change. */
async function changeAndReport(episode: Episode, states: EpisodeStates): Promise<void> {
  const outcome = await changeEpisode(episode, states);
  if (outcome === 'done') return;
  const text = outcome === 'superseded' ? t.superseded : texts.outcomes[outcome];
  showNotice(`${text} (${shortenTitle(episode)})`, true);
}

interface ActionProps {
  readonly label: string;
  /** Name of the episode, for the accessible name of the button. */
  readonly episodeName: string;
  /** State of a toggle button; undefined for other buttons. */
  readonly isOn?: boolean;
  readonly isDisabled?: boolean;
  onPress(button: HTMLElement): void;
  readonly children: ComponentChildren;
}

function ActionButton({ label, episodeName, isOn, isDisabled, onPress, children }: ActionProps) {
  return (
    <button
      class="icon"
      title={label}
      aria-label={`${label}: ${episodeName}`}
      aria-pressed={isOn}
      aria-disabled={isDisabled}
      onClick={({ currentTarget }) => !isDisabled && onPress(currentTarget)}
    >
      <Icon>{children}</Icon>
    </button>
  );
}

/** Returns at most 300 characters of the title, for the names of buttons and for notices. */
function shortenTitle({ title }: Episode): string {
  return title.slice(0, 300) || t.untitled;
}
