import { useSignal } from '@preact/signals';
import { ActionLink, Card } from '#ui';
import { isRetryable, retryUntilAnswered } from '../data/network.js';
import { apiOfUser } from '../data/session.js';
import { texts } from '../texts/texts.js';
import { showNotice } from '../ui/notice.js';
import { Page } from '../ui/page.js';
import { ImportCard } from './import.js';
import { ServerImportCard } from './server-import-card.js';

const { data: t } = texts;

/** Renders the page with import, export and links to the account. */
export function DataPage() {
  return (
    <Page title={t.title}>
      <ImportCard />
      <ServerImportCard />
      <ExportCard />
      <Card title={t.allTitle} lead={t.allText}>
        <form class="actions" method="post" action="/export">
          <button class="plain">{t.allSubmit}</button>
        </form>
      </Card>
      <Card title={t.accessTitle} lead={t.accessText}>
        <ActionLink href="/account" look="plain">
          {t.accessLink}
        </ActionLink>
      </Card>
      <Card title={t.eraseTitle} lead={t.eraseText}>
        <ActionLink href="/erase" look="danger">
          {t.eraseLink}
        </ActionLink>
      </Card>
    </Page>
  );
}

function ExportCard() {
  const isDownloading = useSignal(false);
  const downloadOpml = async () => {
    isDownloading.value = true;
    try {
      const opml = await retryUntilAnswered(async () => (await apiOfUser()).exportOpml());
      downloadText(opml, 'subscriptions.opml');
      showNotice(t.exported);
    } catch (error) {
      if (!isRetryable(error)) showNotice(texts.failed, true);
    } finally {
      isDownloading.value = false;
    }
  };
  return (
    <Card title={t.exportTitle} lead={t.exportText}>
      <p class="actions">
        <button class="plain" disabled={isDownloading.value} onClick={() => void downloadOpml()}>
          {isDownloading.value ? texts.loading : t.exportSubmit}
        </button>
      </p>
    </Card>
  );
}

/** Saves a text as a file. A link to the API would fail, because browsers would send no token. */
function downloadText(text: string, name: string): void {
  const href = URL.createObjectURL(new Blob([text], { type: 'text/x-opml' }));
  Object.assign(document.createElement('a'), { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
}
