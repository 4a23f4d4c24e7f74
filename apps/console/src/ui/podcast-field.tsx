import { useComputed, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Field } from '#ui';
import { compareNames, podcastMatcher, podcastName } from '../data/podcasts.js';
import { subscriptionByGuid, subscriptions } from '../data/subscriptions.js';
import { texts } from '../texts/texts.js';
import { feedName } from './feed-name.js';

const { history: t } = texts;

/** Maximum number of suggested podcasts. A longer text has fewer matches. */
const maxSuggestions = 50;

interface PodcastFieldProps {
  readonly id: string;
  readonly label: string;
  /** The guid of the chosen podcast; empty for all podcasts. */
  readonly value: string;
  onChoice(guid: string): void;
}

/**
 * Renders an input that suggests podcasts by their title, author and address (ARIA 1.2, combobox).
 * Without a choice, the input shows the chosen podcast again.
 */
export function PodcastField({ id, label, value, onChoice }: PodcastFieldProps) {
  /** The typed text; undefined while the list is closed. */
  const typed = useSignal<string | undefined>(undefined);
  const active = useSignal(0);
  const options = useComputed(() => podcastOptionsOf(typed.value)).value;
  const isOpen = typed.value !== undefined;
  const chosen = subscriptionByGuid(value);
  const open = (text: string) => {
    typed.value = text;
    active.value = 0;
  };
  const close = () => (typed.value = undefined);
  const choose = (guid: string | undefined) => {
    close();
    if (guid !== undefined) onChoice(guid);
  };
  const pressKey = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown' && !isOpen) open('');
    else if (event.key === 'ArrowDown')
      active.value = Math.min(active.value + 1, options.length - 1);
    else if (event.key === 'ArrowUp' && isOpen) active.value = Math.max(active.value - 1, 0);
    else if (event.key === 'Enter' && isOpen) choose(options[active.value]?.guid);
    else if (event.key === 'Escape' && isOpen) close();
    else return;
    event.preventDefault();
  };
  useEffect(() => {
    if (isOpen)
      document.getElementById(`${id}-${active.value}`)?.scrollIntoView({ block: 'nearest' });
  }, [isOpen, active.value]);
  return (
    <div class="suggested">
      <Field
        id={id}
        label={label}
        type="search"
        role="combobox"
        // The types of Preact require `list` for this role.
        list={undefined}
        autocomplete="off"
        aria-autocomplete="list"
        aria-expanded={isOpen}
        aria-controls={`${id}-list`}
        aria-activedescendant={isOpen && options.length > 0 ? `${id}-${active.value}` : undefined}
        placeholder={t.allPodcasts}
        value={typed.value ?? (chosen ? podcastName(chosen) : '')}
        onInput={({ currentTarget: { value: text } }) => {
          open(text);
          if (text === '' && value !== '') onChoice('');
        }}
        onClick={() => !isOpen && open('')}
        onBlur={close}
        onKeyDown={pressKey}
      />
      <ul id={`${id}-list`} role="listbox" aria-label={label} hidden={!isOpen}>
        {isOpen && (
          <PodcastOptions id={id} options={options} active={active.value} onChoice={choose} />
        )}
      </ul>
    </div>
  );
}

interface PodcastOptionsProps {
  readonly id: string;
  readonly options: ReturnType<typeof podcastOptionsOf>;
  readonly active: number;
  onChoice(guid: string): void;
}

function PodcastOptions({ id, options, active, onChoice }: PodcastOptionsProps) {
  if (options.length === 0)
    return (
      <li role="option" aria-disabled="true" aria-selected="false" class="quiet">
        {texts.subscriptions.noneFound}
      </li>
    );
  return options.map(({ guid, name, address }, at) => (
    <li
      key={guid}
      id={`${id}-${at}`}
      role="option"
      class="cut"
      aria-selected={at === active}
      // Keeps the focus in the input, because losing it closes the list.
      onMouseDown={(event) => event.preventDefault()}
      onClick={() => onChoice(guid)}
    >
      <bdi>{name}</bdi> <bdi class="quiet small">{address}</bdi>
    </li>
  ));
}

/** Returns the podcasts that match a text, by name. An empty text adds the choice "all" first. */
function podcastOptionsOf(text: string | undefined) {
  if (text === undefined) return [];
  const matching = subscriptions.value
    .filter(podcastMatcher(text))
    .sort(compareNames)
    .slice(0, maxSuggestions)
    .map((podcast) => ({
      guid: podcast.guid,
      name: podcastName(podcast).slice(0, 100),
      address: feedName(podcast.feedUrl).slice(0, 100),
    }));
  return text === '' ? [{ guid: '', name: t.allPodcasts, address: '' }, ...matching] : matching;
}
