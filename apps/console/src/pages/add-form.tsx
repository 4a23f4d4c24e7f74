import { signal, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { ApiError, type FeedPreview } from '#client';
import { Field } from '#ui';
import { isOnline } from '../data/network.js';
import { hasFeeds, podcastName } from '../data/podcasts.js';
import { apiOfUser } from '../data/session.js';
import { addSubscription, subscriptions } from '../data/subscriptions.js';
import { texts } from '../texts/texts.js';
import { feedName, feedUrlOf, isSameFeed } from '../ui/feed-name.js';
import { showNotice } from '../ui/notice.js';

const { subscriptions: t, preview: previewTexts } = texts;

/** The typed feed URL, kept while other pages are open. */
const feedUrlInput = signal('');
/** The previewed feed. `result` is absent while the server reads the feed. */
const currentPreview = signal<
  { readonly feedUrl: string; readonly result?: FeedPreview } | undefined
>(undefined);

/**
 * Renders the form that adds a podcast. It first shows a preview of the feed. Without a connection,
 * or if the server fetches no feeds, it subscribes without a preview.
 */
export function AddForm() {
  const error = useSignal<string | undefined>(undefined);
  const submitForm = (event: Event) => {
    event.preventDefault();
    // Hides the notice about an earlier addition.
    showNotice('');
    const feedUrl = feedUrlOf(feedUrlInput.value);
    error.value = feedUrl === undefined ? t.addInvalid : findDuplicateError(feedUrl);
    if (feedUrl === undefined || error.value !== undefined)
      return document.getElementById('feed')?.focus();
    if (hasFeeds.value && isOnline.value) void loadPreview(feedUrl);
    else void subscribe(feedUrl);
  };
  return (
    <section class="card">
      <form class="add" onSubmit={submitForm} noValidate>
        <Field
          id="feed"
          label={t.add}
          hint={t.addHint}
          error={error.value}
          type="url"
          dir="ltr"
          autocomplete="off"
          maxLength={4096}
          value={feedUrlInput.value}
          onInput={({ currentTarget }) => (feedUrlInput.value = currentTarget.value)}
        />
        <button>{t.addSubmit}</button>
      </form>
      <FeedPreviewCard />
    </section>
  );
}

/** Returns an error message if the user is already subscribed to the feed, else `undefined`. */
function findDuplicateError(feedUrl: string): string | undefined {
  const existing = subscriptions.value.find(
    (row) => row.isSubscribed && isSameFeed(row.feedUrl, feedUrl),
  );
  return existing && previewTexts.isSubscribed(podcastName(existing));
}

/** Loads and shows a preview, unless the user closes it or requests another one meanwhile. */
async function loadPreview(feedUrl: string): Promise<void> {
  const loadingPreview = { feedUrl };
  currentPreview.value = loadingPreview;
  try {
    const result = await (await apiOfUser()).previewFeed(feedUrl);
    if (currentPreview.value === loadingPreview) currentPreview.value = { feedUrl, result };
  } catch (error) {
    if (currentPreview.value !== loadingPreview) return;
    // The server has no previews: subscribes without one.
    if (error instanceof ApiError && error.code === 'not_found') await subscribe(feedUrl);
    else currentPreview.value = { feedUrl, result: { status: 'failed' } };
  }
}

async function subscribe(feedUrl: string, name = feedName(feedUrl)): Promise<void> {
  closePreview();
  feedUrlInput.value = '';
  const outcome = await addSubscription(feedUrl);
  if (outcome === 'done') return showNotice(t.done.add(name));
  showNotice(`${texts.outcomes[outcome]} (${feedUrl.slice(0, 300)})`, true);
  // Restores the rejected URL, unless the user is typing another one.
  if (feedUrlInput.value === '') feedUrlInput.value = feedUrl;
}

/** Closes the preview, and moves the focus back to the input of the form. */
function closePreview(): void {
  currentPreview.value = undefined;
  document.getElementById('feed')?.focus();
}

/** Renders the preview with its buttons. */
function FeedPreviewCard() {
  const previewElement = useRef<HTMLDivElement>(null);
  const result = currentPreview.value?.result;
  // Focuses the preview: a screen reader reads it, and the next Tab key reaches its buttons.
  useEffect(() => {
    if (result) previewElement.current?.focus();
  }, [result]);
  if (!currentPreview.value) return null;
  if (!result)
    return (
      <p class="quiet" role="status">
        {previewTexts.loading}
      </p>
    );
  return (
    <div
      class="preview"
      ref={previewElement}
      tabIndex={-1}
      role="group"
      aria-label={previewTexts.label}
    >
      {result.status === 'ok' ? (
        <PodcastSummary result={result} />
      ) : (
        <p class="notice">{previewTexts.status[result.status]}</p>
      )}
      <AlternateFeeds preview={result} />
      <PreviewButtons feedUrl={currentPreview.value.feedUrl} result={result} />
    </div>
  );
}

function PodcastSummary({ result }: { result: FeedPreview }) {
  const { title, author, description, picture } = result;
  return (
    <div class="podcast">
      {picture !== undefined && (
        <span class="picture">
          <img src={picture} alt="" />
        </span>
      )}
      <div>
        <p class="name">
          <bdi>{title ?? texts.podcast.untitled}</bdi>
        </p>
        {author !== undefined && (
          <p class="quiet small">
            <bdi>{author}</bdi>
          </p>
        )}
        {description !== undefined && (
          <p class="description small">
            <bdi>{description}</bdi>
          </p>
        )}
      </div>
    </div>
  );
}

/** Renders the feeds that a page links to, as buttons that preview a feed. */
function AlternateFeeds({ preview: { alternates = [] } }: { preview: FeedPreview }) {
  if (alternates.length === 0) return null;
  return (
    <>
      <p>{previewTexts.alternates}</p>
      {alternates.map(({ feed_url: feedUrl, title }) => (
        <button
          key={feedUrl}
          type="button"
          class="plain"
          onClick={() => {
            feedUrlInput.value = feedUrl;
            void loadPreview(feedUrl);
          }}
        >
          <bdi>{title ?? feedName(feedUrl)}</bdi>
        </button>
      ))}
    </>
  );
}

function PreviewButtons({ feedUrl, result }: { feedUrl: string; result: FeedPreview }) {
  const isFeed = result.status === 'ok' || result.status === 'private';
  return (
    <p class="actions">
      {result.status !== 'not_a_feed' && (
        <button
          type="button"
          class={isFeed ? '' : 'plain'}
          onClick={() => void subscribe(feedUrl, result.title)}
        >
          {isFeed ? previewTexts.subscribe : previewTexts.subscribeAnyway}
        </button>
      )}
      <button type="button" class="plain" onClick={closePreview}>
        {texts.cancel}
      </button>
    </p>
  );
}
