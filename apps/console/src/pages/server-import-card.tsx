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
/** The chosen kind of server, kept while an import runs; undefined before a choice. */
const chosenKind = signal<ServerKind | undefined>(undefined);

/** Renders the import from another server: a form, the progress and the results. */
export function ServerImportCard() {
  const heading = useRef<HTMLHeadingElement>(null);
  const current = serverImport.value;
  const wasRunning = useRef(false);
  const hasFailed = useSignal(false);
  const isRunning = current !== undefined && isImportRunning(current);
  useEffect(() => {
    loadServerImport().catch(() => (hasFailed.value = true));
  }, []);
  useEffect(() => {
    // Focuses the heading, because the start and the end of an import remove the focused element.
    if (hasImports.peek() && wasRunning.current !== isRunning) heading.current?.focus();
    wasRunning.current = isRunning;
  }, [isRunning]);
  return (
    <Card title={t.serverTitle} lead={t.serverText} heading={heading}>
      {hasImports.value === undefined && (
        <p role="status">{hasFailed.value ? texts.failed : texts.loading}</p>
      )}
      {hasImports.value === false && <p>{t.serverOff}</p>}
      {hasImports.value && isRunning && <ImportProgress current={current} />}
      {hasImports.value && !isRunning && (
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
  const stopImport = () => void stopServerImport().catch(() => showNotice(texts.failed, true));
  return (
    <>
      <progress aria-label={t.reading(feedHost(source))} />
      <p role="status">{t.counts(subscriptions, actions, favorites)}</p>
      <p class="actions">
        <button class="plain" onClick={stopImport}>
          {t.stop}
        </button>
      </p>
    </>
  );
}

function hasImportedData({ subscriptions, actions, favorites }: ServerImport): boolean {
  return subscriptions + actions + favorites > 0;
}

function ImportResults({ current }: { current: ServerImport }) {
  const { state, fault, source, subscriptions, actions, favorites, skipped } = current;
  const endText = t.serverStates[state as keyof typeof t.serverStates](feedHost(source));
  return (
    <>
      <p class={state === 'failed' ? 'notice bad' : 'notice'} role="status">
        {endText} {fault && t.faults[fault]}{' '}
        {hasImportedData(current) && `${t.counts(subscriptions, actions, favorites)}.`}
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

/** Returns the kind of the last import's server; `gpodder` before the first import. */
function detectServerKind(source: string | undefined): ServerKind {
  return source === undefined || source === gpodderNet ? 'gpodder' : 'other';
}

/** Returns error messages by form field. An empty `source` stands for an invalid address. */
function findFieldErrors({ source, login, password }: RemoteAccount): Partial<RemoteAccount> {
  const passwordBytes = new TextEncoder().encode(password).length;
  return {
    ...(source === '' && { source: t.sourceInvalid }),
    ...(login === '' && { login: t.loginMissing }),
    ...((passwordBytes === 0 || passwordBytes > maxPasswordBytes) && {
      password: t.passwordMissing,
    }),
  };
}

/** Starts the import. Returns an error message by form field, or shows any other error. */
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
  const kind = chosenKind.value ?? detectServerKind(last?.source);
  const source = useSignal(last && last.source !== gpodderNet ? last.source : '');
  const login = useSignal(last?.login ?? '');
  const password = useSignal('');
  const errors = useSignal<Partial<RemoteAccount>>({});
  const isStarting = useSignal(false);
  const submitForm = async (event: Event) => {
    event.preventDefault();
    const url = kind === 'gpodder' ? gpodderNet : feedUrlOf(source.value);
    const account = {
      source: url ?? '',
      login: login.value.trim(),
      password: password.value,
    };
    errors.value = findFieldErrors(account);
    const [invalidField] = Object.keys(errors.value);
    if (invalidField !== undefined)
      return document.getElementById(`server-${invalidField}`)?.focus();
    isStarting.value = true;
    errors.value = await startOrReportErrors(account);
    isStarting.value = false;
  };
  const createFieldProps = (name: keyof RemoteAccount, value: typeof source) => ({
    id: `server-${name}`,
    label: t[name],
    error: errors.value[name],
    value: value.value,
    dir: 'ltr' as const,
    onInput: ({ currentTarget }: { currentTarget: HTMLInputElement }) =>
      (value.value = currentTarget.value),
  });
  const canContinue = last !== undefined && last.state !== 'finished' && hasImportedData(last);
  return (
    <form onSubmit={(event) => void submitForm(event)} noValidate>
      <Choice
        id="server-kind"
        label={t.kind}
        options={t.kinds}
        value={kind}
        onChoice={(value) => (chosenKind.value = value)}
      />
      {kind !== 'gpodder' && (
        <Field
          {...createFieldProps('source', source)}
          hint={t.sourceHint}
          type="url"
          maxLength={2048}
        />
      )}
      <Field {...createFieldProps('login', login)} autocomplete="off" maxLength={255} />
      <Field
        {...createFieldProps('password', password)}
        hint={kind === 'nextcloud' ? t.nextcloudHint : t.passwordHint}
        type="password"
        // Keeps browsers from filling in the password of this server.
        autocomplete="new-password"
      />
      <p class="actions">
        <button disabled={isStarting.value}>
          {canContinue ? t.serverContinue : t.serverStart}
        </button>
      </p>
    </form>
  );
}
