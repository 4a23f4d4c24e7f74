import { signal, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { ApiError, type FeedPreview } from '#client';
import { Field } from '#ui';
import { isOnline } from '../data/network.js';
import { hasFeeds, podcastName } from '../data/podcasts.js';
import { connect } from '../data/session.js';
import { addSubscription, subscriptions } from '../data/subscriptions.js';
import { texts } from '../texts/texts.js';
import { feedName, feedUrlOf } from '../ui/feed.name.js';
import { showNotice } from '../ui/notice.js';

const { subscriptions: t, preview: ofPreview } = texts;

// Input of the user, which survives a change of the page.
const input = signal('');
/** The feed that the user looks at; without a result while the server reads it. */
const look = signal<{ readonly feedUrl: string; readonly result?: FeedPreview } | undefined>(
  undefined,
);

/**
 * Renders the form that adds a podcast. The server reads the feed first, and the user sees what it
 * is. Without a connection, or on a server without feeds, the form subscribes immediately.
 */
export function AddForm() {
  const error = useSignal<string | undefined>(undefined);
  const submit = (event: Event) => {
    event.preventDefault();
    const feedUrl = feedUrlOf(input.value);
    error.value = feedUrl === undefined ? t.addInvalid : existing(feedUrl);
    if (feedUrl === undefined || error.value !== undefined)
      return document.getElementById('feed')?.focus();
    if (hasFeeds.value && isOnline.value) void lookAt(feedUrl);
    else void subscribe(feedUrl);
  };
  return (
    <section class="card">
      <form class="add" onSubmit={submit} noValidate>
        <Field
          id="feed"
          label={t.add}
          hint={t.addHint}
          error={error.value}
          type="url"
          dir="ltr"
          autocomplete="off"
          maxLength={4096}
          value={input.value}
          onInput={({ currentTarget }) => (input.value = currentTarget.value)}
        />
        <button>{t.addSubmit}</button>
      </form>
      <Look />
    </section>
  );
}

/** Returns that the user is subscribed already, as an error; `undefined` otherwise. */
function existing(feedUrl: string): string | undefined {
  const name = feedName(feedUrl);
  const same = subscriptions.value.find(
    (row) => row.isSubscribed && feedName(row.feedUrl) === name,
  );
  return same && ofPreview.isSubscribed(podcastName(same));
}

async function lookAt(feedUrl: string): Promise<void> {
  const asked = { feedUrl };
  look.value = asked;
  try {
    const result = await (await connect()).previewFeed(feedUrl);
    if (look.value === asked) look.value = { feedUrl, result };
  } catch (error) {
    if (look.value !== asked) return;
    // A server without previews.
    if (error instanceof ApiError && error.code === 'not_found') await subscribe(feedUrl);
    else look.value = { feedUrl, result: { status: 'failed' } };
  }
}

async function subscribe(feedUrl: string, name = feedName(feedUrl)): Promise<void> {
  close();
  input.value = '';
  const outcome = await addSubscription(feedUrl);
  if (outcome === 'done') return showNotice(t.done.add(name));
  showNotice(`${texts.outcomes[outcome]} (${feedUrl.slice(0, 300)})`, true);
  // Restores the rejected text, unless the user is typing another one.
  if (input.value === '') input.value = feedUrl;
}

/** Closes the look, and moves the focus back to the form. */
function close(): void {
  look.value = undefined;
  document.getElementById('feed')?.focus();
}

/** Renders what the server found, with the choices of the user. */
function Look() {
  const found = useRef<HTMLDivElement>(null);
  const result = look.value?.result;
  // The next key press is about what was found.
  useEffect(() => {
    if (result) found.current?.focus();
  }, [result]);
  if (!look.value) return null;
  if (!result)
    return (
      <p class="quiet" role="status">
        {ofPreview.loading}
      </p>
    );
  return (
    <div class="look" ref={found} tabIndex={-1} role="group" aria-label={ofPreview.label}>
      {result.status === 'ok' ? (
        <Found result={result} />
      ) : (
        <p class="notice">{ofPreview.status[result.status]}</p>
      )}
      <Alternates of={result} />
      <Choices feedUrl={look.value.feedUrl} result={result} />
    </div>
  );
}

function Found({ result: { title, author, description, picture } }: { result: FeedPreview }) {
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

/** Renders the feeds that a page names. */
function Alternates({ of: { alternates = [] } }: { of: FeedPreview }) {
  if (alternates.length === 0) return null;
  return (
    <>
      <p>{ofPreview.alternates}</p>
      {alternates.map(({ feed_url: feedUrl, title }) => (
        <button
          key={feedUrl}
          type="button"
          class="plain"
          onClick={() => {
            input.value = feedUrl;
            void lookAt(feedUrl);
          }}
        >
          <bdi>{title ?? feedName(feedUrl)}</bdi>
        </button>
      ))}
    </>
  );
}

function Choices({ feedUrl, result }: { feedUrl: string; result: FeedPreview }) {
  const isFeed = result.status === 'ok' || result.status === 'private';
  return (
    <p class="actions">
      {result.status !== 'not_a_feed' && (
        <button
          type="button"
          class={isFeed ? '' : 'plain'}
          onClick={() => void subscribe(feedUrl, result.title)}
        >
          {isFeed ? ofPreview.subscribe : ofPreview.subscribeAnyway}
        </button>
      )}
      <button type="button" class="plain" onClick={close}>
        {texts.cancel}
      </button>
    </p>
  );
}
