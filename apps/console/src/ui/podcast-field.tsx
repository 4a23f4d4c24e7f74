import { useComputed, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Field } from '#ui';
import { compareNames, podcastMatcher, podcastName } from '../data/podcasts.js';
import { subscriptionByGuid, subscriptions } from '../data/subscriptions.js';
import { texts } from '../texts/texts.js';
import { feedName } from './feed-name.js';

const { history: t } = texts;

/** Maximum number of suggested podcasts. To see others, the user types more of a name. */
const maxSuggestions = 50;

interface PodcastFieldProps {
  readonly id: string;
  readonly label: string;
  /** The guid of the chosen podcast; empty for all podcasts. */
  readonly value: string;
  onChoice(guid: string): void;
}

/**
 * Renders an input that suggests podcasts by title, author and feed URL (ARIA 1.2, combobox). After
 * the list closes without a choice, the input shows the previous choice again.
 */
export function PodcastField({ id, label, value, onChoice }: PodcastFieldProps) {
  /** The typed text; undefined while the list is closed. */
  const typedText = useSignal<string | undefined>(undefined);
  const activeIndex = useSignal(0);
  const options = useComputed(() => findPodcastOptions(typedText.value)).value;
  const isOpen = typedText.value !== undefined;
  const chosenPodcast = subscriptionByGuid(value);
  const openList = (text: string) => {
    typedText.value = text;
    activeIndex.value = 0;
  };
  const closeList = () => (typedText.value = undefined);
  const choosePodcast = (guid: string | undefined) => {
    closeList();
    if (guid !== undefined) onChoice(guid);
  };
  const handleKey = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown' && !isOpen) openList('');
    else if (event.key === 'ArrowDown')
      activeIndex.value = Math.min(activeIndex.value + 1, options.length - 1);
    else if (event.key === 'ArrowUp' && isOpen)
      activeIndex.value = Math.max(activeIndex.value - 1, 0);
    else if (event.key === 'Enter' && isOpen) choosePodcast(options[activeIndex.value]?.guid);
    else if (event.key === 'Escape' && isOpen) closeList();
    else return;
    event.preventDefault();
  };
  useEffect(() => {
    if (isOpen)
      document.getElementById(`${id}-${activeIndex.value}`)?.scrollIntoView({ block: 'nearest' });
  }, [isOpen, activeIndex.value]);
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
        aria-activedescendant={
          isOpen && options.length > 0 ? `${id}-${activeIndex.value}` : undefined
        }
        placeholder={t.allPodcasts}
        value={typedText.value ?? (chosenPodcast ? podcastName(chosenPodcast) : '')}
        onInput={({ currentTarget: { value: text } }) => {
          openList(text);
          if (text === '' && value !== '') onChoice('');
        }}
        onClick={() => !isOpen && openList('')}
        onBlur={closeList}
        onKeyDown={handleKey}
      />
      <ul id={`${id}-list`} role="listbox" aria-label={label} hidden={!isOpen}>
        {isOpen && (
          <PodcastOptions
            id={id}
            options={options}
            activeIndex={activeIndex.value}
            onChoice={choosePodcast}
          />
        )}
      </ul>
    </div>
  );
}

interface PodcastOptionsProps {
  readonly id: string;
  readonly options: ReturnType<typeof findPodcastOptions>;
  readonly activeIndex: number;
  onChoice(guid: string): void;
}

function PodcastOptions({ id, options, activeIndex, onChoice }: PodcastOptionsProps) {
  if (options.length === 0)
    return (
      <li role="option" aria-disabled="true" aria-selected="false" class="quiet">
        {texts.subscriptions.noneFound}
      </li>
    );
  return options.map(({ guid, name, address }, index) => (
    <li
      key={guid}
      id={`${id}-${index}`}
      role="option"
      class="cut"
      aria-selected={index === activeIndex}
      // Keeps the focus in the input, because the list closes when the input loses the focus.
      onMouseDown={(event) => event.preventDefault()}
      onClick={() => onChoice(guid)}
    >
      <bdi>{name}</bdi> <bdi class="quiet small">{address}</bdi>
    </li>
  ));
}

/** Returns the podcasts that match a text, sorted by name. For an empty text, "all" is first. */
function findPodcastOptions(text: string | undefined) {
  if (text === undefined) return [];
  const matchingOptions = subscriptions.value
    .filter(podcastMatcher(text))
    .sort(compareNames)
    .slice(0, maxSuggestions)
    .map((podcast) => ({
      guid: podcast.guid,
      name: podcastName(podcast).slice(0, 100),
      address: feedName(podcast.feedUrl).slice(0, 100),
    }));
  return text === ''
    ? [{ guid: '', name: t.allPodcasts, address: '' }, ...matchingOptions]
    : matchingOptions;
}
