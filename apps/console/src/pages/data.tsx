import { useSignal } from '@preact/signals';
import { Card } from '#ui';
import { isPassing, untilAnswered } from '../data/network.js';
import { connect } from '../data/session.js';
import { texts } from '../texts/texts.js';
import { say } from '../ui/notice.js';
import { Page } from '../ui/page.js';
import { ImportCard } from './import.js';

const { data: t } = texts;

/** Renders the page for import and export. */
export function Data() {
  return (
    <Page title={t.title}>
      <ImportCard />
      <ExportCard />
      <Card title={t.allTitle} lead={t.allText}>
        <form class="actions" method="post" action="/export">
          <button class="plain">{t.allSubmit}</button>
        </form>
      </Card>
      <Card title={t.accessTitle} lead={t.accessText}>
        <p class="actions">
          <a class="button plain" href="/">
            {t.accessLink}
          </a>
        </p>
      </Card>
      <Card title={t.eraseTitle} lead={t.eraseText}>
        <p class="actions">
          <a class="button danger" href="/erase">
            {t.eraseLink}
          </a>
        </p>
      </Card>
    </Page>
  );
}

function ExportCard() {
  const isBusy = useSignal(false);
  const download = async () => {
    isBusy.value = true;
    try {
      const opml = await untilAnswered(async () => (await connect()).exportOpml());
      save(opml, 'subscriptions.opml');
      say(t.exported);
    } catch (error) {
      if (!isPassing(error)) say(texts.failed, true);
    } finally {
      isBusy.value = false;
    }
  };
  return (
    <Card title={t.exportTitle} lead={t.exportText}>
      <p class="actions">
        <button class="plain" disabled={isBusy.value} onClick={() => void download()}>
          {isBusy.value ? texts.loading : t.exportSubmit}
        </button>
      </p>
    </Card>
  );
}

/** Saves a text as a file. A link to the API would not send the token. */
function save(text: string, name: string): void {
  const href = URL.createObjectURL(new Blob([text], { type: 'text/x-opml' }));
  Object.assign(document.createElement('a'), { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
}
