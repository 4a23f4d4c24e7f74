import { useSignal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { Field } from '#ui';
import {
  move,
  type Outcome,
  pending,
  remove,
  rename,
  type Row,
  setSubscribed,
} from '../data/subscriptions.js';
import { texts } from '../texts/texts.js';
import { feedName, feedUrlOf, podcastName } from '../ui/feed.js';
import { say } from '../ui/notice.js';

const { subscriptions: t } = texts;

/** Renders the dialog of a subscription. An action closes it; a notice shows the result. */
export function ManageDialog({
  row,
  opening,
  onClose,
}: {
  row: Row;
  opening: unknown;
  onClose: () => void;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const isBusy = pending.value.some(({ guid }) => guid === row.guid);
  // A layout effect runs before a late close event of an earlier opening.
  useLayoutEffect(() => {
    if (!dialog.current?.open) dialog.current?.showModal();
  }, [opening]);

  const does = (kind: keyof typeof t.done, name: string, what: Promise<Outcome>) => {
    dialog.current?.close();
    void what.then((outcome) =>
      outcome === 'done'
        ? say(t.done[kind](name))
        : say(`${texts.outcomes[outcome]} (${name.slice(0, 300)})`, true),
    );
  };
  const name = row.title || feedName(row.feedUrl);
  return (
    <dialog
      ref={dialog}
      aria-labelledby="manage-title"
      onClose={() => !dialog.current?.open && onClose()}
    >
      <DialogHead row={row} onClose={() => dialog.current?.close()} />
      <button
        class="plain"
        disabled={isBusy}
        onClick={() =>
          does(
            row.isSubscribed ? 'unsubscribe' : 'subscribe',
            name,
            setSubscribed(row, !row.isSubscribed),
          )
        }
      >
        {row.isSubscribed ? t.unsubscribe : t.subscribe}
      </button>
      <RenameForm
        title={row.title}
        isBusy={isBusy}
        onRename={(title) => does('rename', title || feedName(row.feedUrl), rename(row, title))}
      />
      <MoveForm isBusy={isBusy} onMove={(url) => does('move', feedName(url), move(row, url))} />
      <RemoveButtons isBusy={isBusy} onRemove={() => does('delete', name, remove(row))} />
    </dialog>
  );
}

function DialogHead({ row, onClose }: { row: Row; onClose: () => void }) {
  return (
    <>
      <div class="dialog-head">
        <h2 id="manage-title">
          <bdi>{podcastName(row)}</bdi>
        </h2>
        <button class="bare" onClick={onClose}>
          {texts.close}
        </button>
      </div>
      <p class="address">
        <bdi>{row.feedUrl}</bdi>
      </p>
    </>
  );
}

function RenameForm({
  title,
  isBusy,
  onRename,
}: {
  title: string;
  isBusy: boolean;
  onRename: (title: string) => void;
}) {
  const typed = useSignal(title);
  const submit = (event: Event) => {
    event.preventDefault();
    onRename(typed.value.trim());
  };
  return (
    <form onSubmit={submit}>
      <Field
        id="new-title"
        label={t.rename}
        hint={t.renameHint}
        autocomplete="off"
        maxLength={2048}
        value={typed.value}
        onInput={({ currentTarget }) => (typed.value = currentTarget.value)}
      />
      <button class="plain" disabled={isBusy}>
        {t.renameSubmit}
      </button>
    </form>
  );
}

function MoveForm({ isBusy, onMove }: { isBusy: boolean; onMove: (url: string) => void }) {
  const newUrl = useSignal('');
  const problem = useSignal<string | undefined>(undefined);
  const submit = (event: Event) => {
    event.preventDefault();
    const url = feedUrlOf(newUrl.value);
    problem.value = url === undefined ? t.addInvalid : undefined;
    if (url === undefined) document.getElementById('new-url')?.focus();
    else onMove(url);
  };
  return (
    <form onSubmit={submit} noValidate>
      <Field
        id="new-url"
        label={t.move}
        hint={t.moveHint}
        error={problem.value}
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

function RemoveButtons({ isBusy, onRemove }: { isBusy: boolean; onRemove: () => void }) {
  const isRemoving = useSignal(false);
  if (!isRemoving.value)
    return (
      <button class="danger" disabled={isBusy} onClick={() => (isRemoving.value = true)}>
        {t.remove}
      </button>
    );
  return (
    <div class="removing" role="alert">
      <p>{t.removeText}</p>
      <div class="actions">
        <button class="plain" onClick={() => (isRemoving.value = false)}>
          {texts.cancel}
        </button>
        <button class="danger" onClick={onRemove}>
          {t.removeSubmit}
        </button>
      </div>
    </div>
  );
}
