import { useSignal } from '@preact/signals';
import { isPassing, untilAnswered } from '../data/network.js';
import { connect } from '../data/session.js';
import { texts } from '../texts/texts.js';
import { say } from '../ui/notice.js';
import { Page } from '../ui/page.js';
import { ImportCard } from './import.js';

const { data: t } = texts;

/** What comes in from other apps, and what goes out. */
export function Data() {
  return (
    <Page title={t.title}>
      <ImportCard />
      <ExportCard />
      <section class="card">
        <h2>{t.allTitle}</h2>
        <p>{t.allText}</p>
        <form method="post" action="/export">
          <button class="plain">{t.allSubmit}</button>
        </form>
      </section>
      <section class="card">
        <h2>{t.accessTitle}</h2>
        <p>{t.accessText}</p>
        <p>
          <a class="button plain" href="/">
            {t.accessLink}
          </a>
        </p>
      </section>
      <section class="card">
        <h2>{t.eraseTitle}</h2>
        <p>{t.eraseText}</p>
        <p>
          <a class="button danger" href="/erase">
            {t.eraseLink}
          </a>
        </p>
      </section>
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
    <section class="card">
      <h2>{t.exportTitle}</h2>
      <p>{t.exportText}</p>
      <button class="plain" disabled={isBusy.value} onClick={() => void download()}>
        {isBusy.value ? texts.loading : t.exportSubmit}
      </button>
    </section>
  );
}

/** Has the browser save a text. A link to the API would have no token. */
function save(text: string, name: string): void {
  const href = URL.createObjectURL(new Blob([text], { type: 'text/x-opml' }));
  Object.assign(document.createElement('a'), { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
}
