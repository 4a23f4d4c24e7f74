import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { Card, Field, Row } from '#ui';
import { currentImport, type ImportResult, startImport, stopImport } from '../data/import.js';
import { readOpmlFile } from '../data/opml-file.js';
import { texts } from '../texts/texts.js';
import { WindowedList } from '../ui/windowed-list.js';

const { data: t } = texts;

/** Renders the import of an OPML file, from the choice of the file to the results. */
export function ImportCard() {
  const current = currentImport.value;
  const heading = useRef<HTMLHeadingElement>(null);
  const previousState = useRef(current?.state);
  useEffect(() => {
    // Focuses the heading, because each step of the import removes the focused element.
    if (previousState.current !== current?.state) heading.current?.focus();
    previousState.current = current?.state;
  }, [current?.state]);
  return (
    <Card title={t.importTitle} lead={t.importText} heading={heading}>
      {current === undefined && <OpmlFileField />}
      {current?.state === 'chosen' && (
        <>
          <p role="status">
            {t.found(current.feeds.length)} {current.skipped > 0 && t.skipped(current.skipped)}
          </p>
          <div class="actions">
            <button onClick={() => void startImport()}>{t.start(current.feeds.length)}</button>
            <button class="plain" onClick={() => (currentImport.value = undefined)}>
              {texts.cancel}
            </button>
          </div>
        </>
      )}
      {current?.state === 'running' && (
        <ImportProgressBar done={current.results.length} all={current.feeds.length} />
      )}
      {(current?.state === 'stopped' || current?.state === 'finished') && (
        <>
          <p class="notice" role="status">
            {current.state === 'stopped'
              ? t.stopped(current.results.length, current.feeds.length)
              : t.finished(...countResults(current.results))}
          </p>
          {current.results.length > 0 && <ImportResults results={current.results} />}
          <p class="actions">
            <button class="plain" onClick={() => (currentImport.value = undefined)}>
              {t.another}
            </button>
          </p>
        </>
      )}
    </Card>
  );
}

function countResults(results: readonly ImportResult[]): [doneCount: number, failed: number] {
  const doneCount = results.filter(({ outcome }) => outcome === 'done').length;
  return [doneCount, results.length - doneCount];
}

function OpmlFileField() {
  const problem = useSignal<string | undefined>(undefined);
  const readFile = async (file: File | undefined) => {
    if (!file) return;
    problem.value = undefined;
    const result = await readOpmlFile(file);
    if (typeof result === 'string') problem.value = result === 'failed' ? texts.failed : t[result];
    else currentImport.value = { ...result, results: [], state: 'chosen' };
  };
  return (
    <Field
      id="opml"
      label={t.file}
      error={problem.value}
      type="file"
      accept=".opml,.xml,text/x-opml,text/xml,application/xml"
      onChange={({ currentTarget }) => void readFile(currentTarget.files?.[0])}
    />
  );
}

function ImportProgressBar({ done, all }: { done: number; all: number }) {
  return (
    <>
      <progress max={all} value={done} aria-label={t.importing} />
      <p role="status">{t.progress(done, all)}</p>
      <p class="actions">
        <button class="plain" onClick={stopImport}>
          {t.stop}
        </button>
      </p>
    </>
  );
}

function ImportResults({ results }: { results: readonly ImportResult[] }) {
  const hasFailed = ({ outcome }: ImportResult) => outcome !== 'done';
  return (
    <WindowedList
      label={t.results}
      items={[...results.filter(hasFailed), ...results.filter((result) => !hasFailed(result))]}
      keyOf={({ feedUrl }) => feedUrl}
      renderRow={({ feedUrl, title, outcome }) => (
        <Row name={title === '' ? feedUrl : title} lines={[feedUrl]}>
          <span class={outcome === 'done' ? 'tag' : 'tag bad'}>
            {outcome === 'done' ? t.imported : texts.outcomes[outcome]}
          </span>
        </Row>
      )}
    />
  );
}
