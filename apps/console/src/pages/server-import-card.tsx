import { signal, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { ApiError } from '#client';
import { Card, Field, Row } from '#ui';
import {
  hasImports,
  isImportRunning,
  loadServerImport,
  type RemoteAccount,
  type ServerImport,
  serverImport,
  type SkippedEntry,
  startServerImport,
  stopServerImport,
} from '../data/server-import.js';
import { texts } from '../texts/texts.js';
import { Choice } from '../ui/choice.js';
import { feedHost, feedUrlOf } from '../ui/feed-name.js';
import { showNotice } from '../ui/notice.js';

const { data: t } = texts;

const gpodderNet = 'https://gpodder.net/';
const maxPasswordBytes = 256;

type ServerKind = keyof typeof t.kinds;
/** The chosen kind of server, kept while an import runs. */
const chosenKind = signal<ServerKind | undefined>(undefined);

/** Renders the import from another server: a form, the progress and the results. */
export function ServerImportCard() {
  const heading = useRef<HTMLHeadingElement>(null);
  const current = serverImport.value;
  const wasRunning = useRef(false);
  const hasFailed = useSignal(false);
  const running = current !== undefined && isImportRunning(current);
  useEffect(() => {
    loadServerImport().catch(() => (hasFailed.value = true));
  }, []);
  useEffect(() => {
    // The focused element disappears at the start and at the end.
    if (hasImports.peek() && wasRunning.current !== running) heading.current?.focus();
    wasRunning.current = running;
  }, [running]);
  return (
    <Card title={t.serverTitle} lead={t.serverText} heading={heading}>
      {hasImports.value === undefined && (
        <p role="status">{hasFailed.value ? texts.failed : texts.loading}</p>
      )}
      {hasImports.value === false && <p>{t.serverOff}</p>}
      {hasImports.value && running && <ImportProgress current={current} />}
      {hasImports.value && !running && (
        <>
          {current && <ImportResults current={current} />}
          <ServerImportForm last={current} />
        </>
      )}
    </Card>
  );
}

function ImportProgress({ current }: { current: ServerImport }) {
  const { subscriptions, actions, favorites, source } = current;
  const stop = () => void stopServerImport().catch(() => showNotice(texts.failed, true));
  return (
    <>
      <progress aria-label={t.reading(feedHost(source))} />
      <p role="status">{t.counts(subscriptions, actions, favorites)}</p>
      <p class="actions">
        <button class="plain" onClick={stop}>
          {t.stop}
        </button>
      </p>
    </>
  );
}

function hasWritten({ subscriptions, actions, favorites }: ServerImport): boolean {
  return subscriptions + actions + favorites > 0;
}

function ImportResults({ current }: { current: ServerImport }) {
  const { state, fault, source, subscriptions, actions, favorites, skipped } = current;
  const end = t.serverStates[state as keyof typeof t.serverStates](feedHost(source));
  return (
    <>
      <p class={state === 'failed' ? 'notice bad' : 'notice'} role="status">
        {end} {fault && t.faults[fault]}{' '}
        {hasWritten(current) && `${t.counts(subscriptions, actions, favorites)}.`}
      </p>
      {skipped > 0 && (
        <details>
          <summary>{t.skippedEntries(skipped)}</summary>
          <ul class="rows">
            {current.skipped_entries.map((entry, index) => (
              <li key={index}>
                <SkippedEntryRow skipped={entry} />
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

function SkippedEntryRow({ skipped: { kind, reason, entry, count } }: { skipped: SkippedEntry }) {
  const reasons: Readonly<Record<string, string>> = { ...texts.outcomes, ...t.reasons };
  const name = entry ?? `${count} × ${t.entryKinds[kind]}`;
  return <Row name={name} lines={[`${t.entryKinds[kind]}: ${reasons[reason] ?? reason}`]} />;
}

/** Returns the kind of the server of the last import. */
function serverKindOf(source: string | undefined): ServerKind {
  return source === undefined || source === gpodderNet ? 'gpodder' : 'other';
}

/** Returns the error messages of the form's fields. An invalid address arrives as an empty one. */
function fieldErrorsOf({ source, login, password }: RemoteAccount): Partial<RemoteAccount> {
  const bytes = new TextEncoder().encode(password).length;
  return {
    ...(source === '' && { source: t.sourceInvalid }),
    ...(login === '' && { login: t.loginMissing }),
    ...((bytes === 0 || bytes > maxPasswordBytes) && { password: t.passwordMissing }),
  };
}

/** Starts the import. Returns the error message of a field, or shows another error as a notice. */
async function startOrReportErrors(account: RemoteAccount): Promise<Partial<RemoteAccount>> {
  try {
    await startServerImport(account);
  } catch (error) {
    if (error instanceof ApiError && error.code === 'invalid') return { source: t.sourceInvalid };
    const isBusy = error instanceof ApiError && (error.status === 429 || error.status === 503);
    showNotice(isBusy ? t.busy : texts.failed, true);
  }
  return {};
}

function ServerImportForm({ last }: { last: ServerImport | undefined }) {
  const kind = chosenKind.value ?? serverKindOf(last?.source);
  const source = useSignal(last && last.source !== gpodderNet ? last.source : '');
  const login = useSignal(last?.login ?? '');
  const password = useSignal('');
  const errors = useSignal<Partial<RemoteAccount>>({});
  const isBusy = useSignal(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    const url = kind === 'gpodder' ? gpodderNet : feedUrlOf(source.value);
    const account = {
      source: url ?? '',
      login: login.value.trim(),
      password: password.value,
    };
    errors.value = fieldErrorsOf(account);
    const [first] = Object.keys(errors.value);
    if (first !== undefined) return document.getElementById(`server-${first}`)?.focus();
    isBusy.value = true;
    errors.value = await startOrReportErrors(account);
    isBusy.value = false;
  };
  const field = (name: keyof RemoteAccount, value: typeof source) => ({
    id: `server-${name}`,
    label: t[name],
    error: errors.value[name],
    value: value.value,
    dir: 'ltr' as const,
    onInput: ({ currentTarget }: { currentTarget: HTMLInputElement }) =>
      (value.value = currentTarget.value),
  });
  const canContinue = last !== undefined && last.state !== 'finished' && hasWritten(last);
  return (
    <form onSubmit={(event) => void submit(event)} noValidate>
      <Choice
        id="server-kind"
        label={t.kind}
        options={t.kinds}
        value={kind}
        onChoice={(value) => (chosenKind.value = value)}
      />
      {kind !== 'gpodder' && (
        <Field {...field('source', source)} hint={t.sourceHint} type="url" maxLength={2048} />
      )}
      <Field {...field('login', login)} autocomplete="off" maxLength={255} />
      <Field
        {...field('password', password)}
        hint={kind === 'nextcloud' ? t.nextcloudHint : t.passwordHint}
        type="password"
        // Keeps browsers from filling in the password of this server.
        autocomplete="new-password"
      />
      <p class="actions">
        <button disabled={isBusy.value}>{canContinue ? t.serverContinue : t.serverStart}</button>
      </p>
    </form>
  );
}
