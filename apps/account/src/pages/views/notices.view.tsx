import { Card, Row } from '#ui';
import { noticeTexts } from '../../people/notice-texts.js';
import type { Notice } from '../../people/notices.js';
import type { Visit } from '../document.js';
import { browserName } from './browser-name.js';
import { joinParts, renderTime, RowList } from './controls.js';

/** Renders the recent changes of an account; nothing without changes. */
export function NoticesSection({ visit, notices }: { visit: Visit; notices: readonly Notice[] }) {
  const { home } = visit.texts;
  if (notices.length === 0) return null;
  const rows = notices.map(({ createdAt, kind, label, address, userAgent }) => (
    <Row
      name={noticeTexts[visit.language][kind](label ?? '')}
      lines={[
        joinParts(
          renderTime(visit, createdAt),
          address,
          userAgent && browserName(visit, userAgent),
        ),
      ]}
    />
  ));
  return (
    <Card title={home.notices} lead={home.noticesLead}>
      <RowList rows={rows} />
    </Card>
  );
}
