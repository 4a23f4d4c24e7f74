import { type Signal, useComputed, useSignal } from '@preact/signals';
import { useCallback, useEffect } from 'preact/hooks';
import { Field, Row as ListRow } from '#ui';
import { isOnline } from '../data/network.js';
import {
  add,
  isComplete,
  pending,
  type Row,
  rows,
  subscriptionPulls,
  total,
} from '../data/subscriptions.js';
import { locale, texts } from '../texts/texts.js';
import { feedName, feedUrlOf, podcastName, searchForm } from '../ui/feed.js';
import { Failure, Page } from '../ui/page.js';
import { say } from '../ui/notice.js';
import { WindowedList } from '../ui/window.js';
import { ManageDialog } from './manage.js';

const { subscriptions: t } = texts;

/** Typed texts, which survive a change of the page. */
const typed = { feedUrl: '', search: '' };
const order = new Intl.Collator(locale, { sensitivity: 'base', numeric: true });

/** Renders the subscriptions, with search and the form that adds one. */
export function Subscriptions() {
  const search = useSignal(typed.search);
  const isOn = useSignal(true);
  const isByTitle = useSignal(false);
  // Each opening sets a new object, also for the same subscription.
  const managed = useSignal<{ guid: string } | undefined>(undefined);
  const failed = useSignal(false);
  const shown = useComputed(() => foundRows(search.value, isOn.value, isByTitle.value));
  const begin = useCallback(() => {
    failed.value = false;
    subscriptionPulls.begin().catch(() => (failed.value = true));
  }, []);
  useEffect(begin, []);

  const isWhole = search.value.trim() === '' && isOn.value;
  const opening = managed.value;
  const row = rows.value.find(({ guid }) => guid === opening?.guid);
  return (
    <Page title={t.title} lead={t.lead}>
      <AddForm />
      <section class="card list">
        <Tools search={search} isOn={isOn} isByTitle={isByTitle} />
        <p class="quiet small count" role="status">
          {!failed.value && countOf(shown.value.length)}
        </p>
        <Waiting />
        {failed.value && <Failure onRetry={begin} />}
        {isComplete.value && shown.value.length === 0 ? (
          <NoRows isWhole={isWhole} isSearch={search.value.trim() !== ''} />
        ) : (
          !failed.value && (
            <WindowedList
              label={t.list}
              items={shown.value}
              expected={isWhole && !isComplete.value ? (total.value ?? 8) : 0}
              keyOf={({ guid }) => guid}
              row={(each) => (
                <SubscriptionRow
                  row={each}
                  onManage={() => (managed.value = { guid: each.guid })}
                />
              )}
            />
          )
        )}
      </section>
      {row && (
        <ManageDialog
          key={row.guid}
          row={row}
          opening={opening}
          onClose={() => managed.value === opening && (managed.value = undefined)}
        />
      )}
    </Page>
  );
}

/** Returns the subscriptions that match the search, in the chosen order. */
function foundRows(search: string, isOn: boolean, isByTitle: boolean): readonly Row[] {
  const sought = searchForm(search.trim());
  const found = rows.value.filter(
    ({ isSubscribed, title, feedUrl }) =>
      isSubscribed === isOn &&
      (sought === '' || searchForm(`${title}\n${feedUrl}`).includes(sought)),
  );
  if (!isByTitle) return found;
  return found.toSorted((one, other) => order.compare(podcastName(one), podcastName(other)));
}

function NoRows({ isWhole, isSearch }: { isWhole: boolean; isSearch: boolean }) {
  return (
    <p class="empty">
      {isWhole ? t.none : isSearch ? t.noneFound : t.noneOff}{' '}
      {isWhole && <a href="/console/data">{t.importLink}</a>}
    </p>
  );
}

function countOf(shown: number): string {
  if (isComplete.value) return t.count(shown);
  return total.value === undefined ? texts.loading : t.soFar(rows.value.length, total.value);
}

function Tools({
  search,
  isOn,
  isByTitle,
}: {
  search: Signal<string>;
  isOn: Signal<boolean>;
  isByTitle: Signal<boolean>;
}) {
  return (
    <div class="tools" role="search">
      <Field
        id="search"
        label={t.search}
        type="search"
        autocomplete="off"
        value={search.value}
        onInput={({ currentTarget }) => (search.value = typed.search = currentTarget.value)}
      />
      <Choice
        id="show"
        label={t.show}
        no={t.on}
        yes={t.off}
        isYes={!isOn.value}
        onChoice={(isOff) => (isOn.value = !isOff)}
      />
      <Choice
        id="sort"
        label={t.sort}
        no={t.byTime}
        yes={t.byTitle}
        isYes={isByTitle.value}
        onChoice={(isYes) => (isByTitle.value = isYes)}
      />
    </div>
  );
}

/** Renders a choice between two values. */
function Choice({
  id,
  label,
  no,
  yes,
  isYes,
  onChoice,
}: {
  id: string;
  label: string;
  no: string;
  yes: string;
  isYes: boolean;
  onChoice: (isYes: boolean) => void;
}) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        value={isYes ? 'yes' : 'no'}
        onChange={({ currentTarget }) => onChoice(currentTarget.value === 'yes')}
      >
        <option value="no">{no}</option>
        <option value="yes">{yes}</option>
      </select>
    </div>
  );
}

function SubscriptionRow({ row, onManage }: { row: Row; onManage: () => void }) {
  const now = pending.value.find(({ guid }) => guid === row.guid);
  const name = row.title || feedName(row.feedUrl);
  return (
    <ListRow
      name={podcastName(row)}
      tag={now && <span class="tag">{stateOf(now.kind)}</span>}
      lines={[row.feedUrl]}
    >
      <button
        class="plain slight"
        aria-label={t.manageNamed(name.slice(0, 200))}
        onClick={onManage}
      >
        {t.manage}
      </button>
    </ListRow>
  );
}

function stateOf(kind: keyof typeof t.pending): string {
  return isOnline.value ? t.pending[kind] : t.waiting;
}

function Waiting() {
  const added = pending.value.filter(({ kind }) => kind === 'add');
  if (added.length === 0) return null;
  return (
    <ul class="waiting" role="list">
      {added.slice(0, 20).map((each, at) => (
        <li key={at} class="cut">
          <bdi>{each.feedUrl}</bdi> <span class="tag">{stateOf('add')}</span>
        </li>
      ))}
    </ul>
  );
}

function AddForm() {
  const text = useSignal(typed.feedUrl);
  const problem = useSignal<string | undefined>(undefined);
  const submit = (event: Event) => {
    event.preventDefault();
    const feedUrl = feedUrlOf(text.value);
    problem.value = feedUrl === undefined ? t.addInvalid : undefined;
    if (feedUrl === undefined) return document.getElementById('feed')?.focus();
    text.value = typed.feedUrl = '';
    void add(feedUrl).then((outcome) => {
      if (outcome === 'done') return say(t.done.add(feedName(feedUrl)));
      say(`${texts.outcomes[outcome]} (${feedUrl.slice(0, 300)})`, true);
      // Restores the rejected text, unless the user is typing another one.
      if (text.value === '') text.value = typed.feedUrl = feedUrl;
    });
  };
  return (
    <form class="card add" onSubmit={submit} noValidate>
      <Field
        id="feed"
        label={t.add}
        hint={t.addHint}
        error={problem.value}
        type="url"
        dir="ltr"
        autocomplete="off"
        maxLength={4096}
        value={text.value}
        onInput={({ currentTarget }) => (text.value = typed.feedUrl = currentTarget.value)}
      />
      <button>{t.addSubmit}</button>
    </form>
  );
}
