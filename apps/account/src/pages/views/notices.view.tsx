import { Card, Row } from '#ui';
import { noticeTexts } from '../../people/notice.texts.js';
import type { Notice } from '../../people/notices.js';
import type { Visit } from '../document.js';
import { browserName } from './browser-name.js';
import { renderTime } from './components.js';

/** Renders the recent changes of an account, if there are any. */
export function Notices({ visit, of }: { visit: Visit; of: readonly Notice[] }) {
  const { home } = visit.texts;
  if (of.length === 0) return null;
  return (
    <Card title={home.notices} lead={home.noticesLead}>
      <ul class="rows" role="list">
        {of.map(({ createdAt, kind, label, address, userAgent }) => (
          <li>
            <Row
              name={noticeTexts[visit.language][kind](label ?? '')}
              lines={[
                [
                  renderTime(visit, createdAt),
                  address && ` · ${address}`,
                  userAgent && ` · ${browserName(visit, userAgent)}`,
                ],
              ]}
            />
          </li>
        ))}
      </ul>
    </Card>
  );
}
