import { useSignal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { Field } from '#ui';
import { podcastName } from '../data/podcasts.js';
import {
  changeFeedUrl,
  type ChangeOutcome,
  changeTitle,
  currentGuid,
  deleteSubscription,
  type ListedSubscription,
  pendingChangeOf,
  setSubscribed,
  subscriptionByGuid,
} from '../data/subscriptions.js';
import { texts } from '../texts/texts.js';
import { feedName, feedUrlOf } from '../ui/feed-name.js';
import { hideNotice, showNotice, showUndo } from '../ui/notice.js';

const { subscriptions: t } = texts;

type ManageAction = keyof typeof t.done;

/** Returns the id of the button that opens the dialog of a subscription. */
export const manageId = (guid: string) => `manage-${guid}`;

interface ManageDialogProps {
  readonly subscription: ListedSubscription;
  /** Identifies an opening: a new value opens the dialog again. */
  readonly opening: unknown;
  onClose(): void;
}

/** Renders the dialog of a subscription. An action closes the dialog; a notice shows its result. */
export function ManageDialog({ subscription, opening, onClose }: ManageDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const isBusy = pendingChangeOf(subscription) !== undefined;
  // After a recent close, the `close` event can still be pending. A layout effect opens the dialog
  // before that event, so that the handler of the event does not call `onClose`.
  useLayoutEffect(() => {
    if (!dialog.current?.open) dialog.current?.showModal();
  }, [opening]);

  const closeAndReport = (kind: ManageAction, name: string, change: Promise<ChangeOutcome>) => {
    dialog.current?.close();
    // Hides the current notice, because its Undo button belongs to an earlier change.
    hideNotice();
    void reportChange(kind, name, change, subscription);
  };
  const { feedUrl, isSubscribed, title } = subscription;
  const name = podcastName(subscription, feedName);
  return (
    <dialog
      ref={dialog}
      aria-labelledby="manage-title"
      onClose={() => !dialog.current?.open && onClose()}
    >
      <DialogHead subscription={subscription} onClose={() => dialog.current?.close()} />
      <button
        class="plain"
        disabled={isBusy}
        onClick={() =>
          closeAndReport(
            isSubscribed ? 'unsubscribe' : 'subscribe',
            name,
            setSubscribed(subscription, !isSubscribed),
          )
        }
      >
        {isSubscribed ? t.unsubscribe : t.subscribe}
      </button>
      <TitleForm
        title={title}
        isBusy={isBusy}
        onChange={(newTitle) =>
          closeAndReport(
            'rename',
            newTitle || feedName(feedUrl),
            changeTitle(subscription, newTitle),
          )
        }
      />
      <MoveForm
        isBusy={isBusy}
        onMove={(url) => closeAndReport('move', feedName(url), changeFeedUrl(subscription, url))}
      />
      <DeleteButtons
        isBusy={isBusy}
        onDelete={() => closeAndReport('delete', name, deleteSubscription(subscription))}
      />
    </dialog>
  );
}

/**
 * Shows the result of a change. After an unsubscription, Undo subscribes again. Undo then moves the
 * focus to the button that opens the dialog, because the Undo button disappears.
 */
async function reportChange(
  kind: ManageAction,
  name: string,
  change: Promise<ChangeOutcome>,
  subscription: ListedSubscription,
): Promise<void> {
  const outcome = await change;
  const { guid } = subscription;
  if (outcome !== 'done') showNotice(`${texts.outcomes[outcome]} (${name.slice(0, 300)})`, true);
  else if (kind !== 'unsubscribe') showNotice(t.done[kind](name));
  else
    showUndo(t.done.unsubscribe(name), () => {
      const resubscription = setSubscribed(subscriptionByGuid(guid) ?? subscription, true);
      void reportChange('subscribe', name, resubscription, subscription).then(() =>
        // Sets the focus in the next frame, in which the list contains the podcast again.
        requestAnimationFrame(() => document.getElementById(manageId(currentGuid(guid)))?.focus()),
      );
    });
}

interface DialogHeadProps {
  readonly subscription: ListedSubscription;
  onClose(): void;
}

function DialogHead({ subscription, onClose }: DialogHeadProps) {
  return (
    <>
      <div class="dialog-head">
        <h2 id="manage-title">
          <bdi>{podcastName(subscription)}</bdi>
        </h2>
        <button class="bare" onClick={onClose}>
          {texts.close}
        </button>
      </div>
      <p class="address">
        <bdi>{subscription.feedUrl}</bdi>
      </p>
    </>
  );
}

interface TitleFormProps {
  readonly title: string;
  readonly isBusy: boolean;
  onChange(newTitle: string): void;
}

function TitleForm({ title, isBusy, onChange }: TitleFormProps) {
  const newTitle = useSignal(title);
  const submit = (event: Event) => {
    event.preventDefault();
    onChange(newTitle.value.trim());
  };
  return (
    <form onSubmit={submit}>
      <Field
        id="new-title"
        label={t.rename}
        hint={t.renameHint}
        autocomplete="off"
        maxLength={2048}
        value={newTitle.value}
        onInput={({ currentTarget }) => (newTitle.value = currentTarget.value)}
      />
      <button class="plain" disabled={isBusy}>
        {t.renameSubmit}
      </button>
    </form>
  );
}

function MoveForm({ isBusy, onMove }: { isBusy: boolean; onMove: (url: string) => void }) {
  const newUrl = useSignal('');
  const error = useSignal<string | undefined>(undefined);
  const submit = (event: Event) => {
    event.preventDefault();
    const url = feedUrlOf(newUrl.value);
    error.value = url === undefined ? t.addInvalid : undefined;
    if (url === undefined) document.getElementById('new-url')?.focus();
    else onMove(url);
  };
  return (
    <form onSubmit={submit} noValidate>
      <Field
        id="new-url"
        label={t.move}
        hint={t.moveHint}
        error={error.value}
        type="url"
        dir="ltr"
        autocomplete="off"
        maxLength={4096}
        value={newUrl.value}
        onInput={({ currentTarget }) => (newUrl.value = currentTarget.value)}
      />
      <button class="plain" disabled={isBusy}>
        {t.moveSubmit}
      </button>
    </form>
  );
}

function DeleteButtons({ isBusy, onDelete }: { isBusy: boolean; onDelete: () => void }) {
  const isConfirming = useSignal(false);
  if (!isConfirming.value)
    return (
      <button class="danger" disabled={isBusy} onClick={() => (isConfirming.value = true)}>
        {t.delete}
      </button>
    );
  return (
    <div class="removing" role="alert">
      <p>{t.deleteText}</p>
      <div class="actions">
        <button class="plain" onClick={() => (isConfirming.value = false)}>
          {texts.cancel}
        </button>
        <button class="danger" onClick={onDelete}>
          {t.deleteSubmit}
        </button>
      </div>
    </div>
  );
}
