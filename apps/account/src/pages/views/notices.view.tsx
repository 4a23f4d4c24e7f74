import { Card, Row } from '#ui';
import { noticeTexts } from '../../people/notice.texts.js';
import type { Notice } from '../../people/notices.js';
import type { Visit } from '../document.js';
import { browserName } from './browser.js';
import { when } from './parts.js';

/** Renders the changes of an account that its owner should notice; nothing without any. */
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
                  when(visit, createdAt),
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
