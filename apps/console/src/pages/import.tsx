import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { Card, Field, Row } from '#ui';
import { present, run, stop, type Verdict } from '../data/import.js';
import { readFeeds } from '../data/opml.js';
import { texts } from '../texts/texts.js';
import { WindowedList } from '../ui/window.js';

const { data: t } = texts;

/** Renders the import, from the selection of a file to the results. */
export function ImportCard() {
  const now = present.value;
  const heading = useRef<HTMLHeadingElement>(null);
  const before = useRef(now?.state);
  useEffect(() => {
    // The focused element disappeared with the previous step.
    if (before.current !== now?.state) heading.current?.focus();
    before.current = now?.state;
  }, [now?.state]);
  return (
    <Card title={t.importTitle} lead={t.importText} heading={heading}>
      {now === undefined && <Choice />}
      {now?.state === 'chosen' && (
        <>
          <p role="status">
            {t.found(now.feeds.length)} {now.skipped > 0 && t.skipped(now.skipped)}
          </p>
          <div class="actions">
            <button onClick={() => void run()}>{t.start(now.feeds.length)}</button>
            <button class="plain" onClick={() => (present.value = undefined)}>
              {texts.cancel}
            </button>
          </div>
        </>
      )}
      {now?.state === 'running' && <Running done={now.verdicts.length} all={now.feeds.length} />}
      {(now?.state === 'stopped' || now?.state === 'finished') && (
        <>
          <p class="notice" role="status">
            {now.state === 'stopped'
              ? t.stopped(now.verdicts.length, now.feeds.length)
              : t.finished(...countsOf(now.verdicts))}
          </p>
          {now.verdicts.length > 0 && <Verdicts of={now.verdicts} />}
          <p class="actions">
            <button class="plain" onClick={() => (present.value = undefined)}>
              {t.another}
            </button>
          </p>
        </>
      )}
    </Card>
  );
}

function countsOf(verdicts: readonly Verdict[]): [done: number, failed: number] {
  const done = verdicts.filter(({ outcome }) => outcome === 'done').length;
  return [done, verdicts.length - done];
}

function Choice() {
  const problem = useSignal<string | undefined>(undefined);
  const choose = async (file: File | undefined) => {
    if (!file) return;
    problem.value = undefined;
    const read = await readFeeds(file);
    if (typeof read === 'string') problem.value = read === 'failed' ? texts.failed : t[read];
    else present.value = { ...read, verdicts: [], state: 'chosen' };
  };
  return (
    <Field
      id="opml"
      label={t.file}
      error={problem.value}
      type="file"
      accept=".opml,.xml,text/x-opml,text/xml,application/xml"
      onChange={({ currentTarget }) => void choose(currentTarget.files?.[0])}
    />
  );
}

function Running({ done, all }: { done: number; all: number }) {
  return (
    <>
      <progress max={all} value={done} aria-label={t.importing} />
      <p role="status">{t.progress(done, all)}</p>
      <p class="actions">
        <button class="plain" onClick={stop}>
          {t.stop}
        </button>
      </p>
    </>
  );
}

function Verdicts({ of }: { of: readonly Verdict[] }) {
  const isBad = ({ outcome }: Verdict) => outcome !== 'done';
  return (
    <WindowedList
      label={t.verdicts}
      items={[...of.filter(isBad), ...of.filter((verdict) => !isBad(verdict))]}
      keyOf={({ feedUrl }) => feedUrl}
      row={({ feedUrl, title, outcome }) => (
        <Row name={title === '' ? feedUrl : title} lines={[feedUrl]}>
          <span class={outcome === 'done' ? 'tag' : 'tag bad'}>
            {outcome === 'done' ? t.imported : texts.outcomes[outcome]}
          </span>
        </Row>
      )}
    />
  );
}
