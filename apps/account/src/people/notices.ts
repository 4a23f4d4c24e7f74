import { Inject, Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { AccountEntity, NoticeEntity } from '#database/typeorm';
import type { Log } from '#runtime';
import type { Repository } from 'typeorm';
import { LOG } from '../account.config.js';
import { AttemptLimits } from './limits.js';
import { Mail } from './mail.js';
import { noticeMail } from './notice-texts.js';
import { PEOPLE_CONFIG, type PeopleConfig } from './people.config.js';
import type { Visitor } from './sessions.js';

/** Notice about a change of an account, or about a sign-in. */
export type Notice = Pick<NoticeEntity, 'createdAt' | 'kind' | 'label' | 'address' | 'userAgent'>;

/** Maximum notices per account and kind. A further notice replaces the oldest of its kind. */
const maxNoticesPerKind = 5;
const maxListedNotices = 30;

/**
 * Stores notices about changes of an account for its page, and mails them to the verified address.
 * A notice is stored after the commit of the change, so a crash in between loses the notice. If
 * storing fails, the failure is logged, and the change stays.
 */
@Injectable()
export class Notices {
  constructor(
    @InjectRepository(NoticeEntity) private readonly notices: Repository<NoticeEntity>,
    private readonly limits: AttemptLimits,
    private readonly mail: Mail,
    @Inject(PEOPLE_CONFIG) private readonly config: Pick<PeopleConfig, 'PUBLIC_URL'>,
    @Inject(LOG) private readonly log: Log,
  ) {}

  /**
   * Stores a notice, deletes all but the newest five of its kind, and mails it in the background.
   *
   * @param visitor client that made the change; undefined for a change by the operator.
   * @param details `label` of the app password or passkey; `email`: recipient instead of the
   *   verified address, or `null` to send no mail.
   */
  async addNotice(
    accountId: string,
    kind: Notice['kind'],
    { address, userAgent }: Visitor = { address: '', userAgent: '' },
    details: { label?: string; email?: string | null } = {},
  ): Promise<void> {
    const label = details.label ?? null;
    const clientValues = [address.slice(0, 64), userAgent.slice(0, 400)] as const;
    try {
      await this.notices.query(
        // The DELETE misses the inserted row, so the DELETE keeps one row less than the maximum.
        `WITH locked_account AS (SELECT id FROM account.accounts WHERE id = $1 FOR NO KEY UPDATE),
         added AS (
           INSERT INTO account.notices (account_id, id, kind, label, address, user_agent)
           SELECT id, gen_random_uuid(), $2, $3, $4, $5 FROM locked_account)
         DELETE FROM account.notices n USING locked_account
         WHERE n.account_id = locked_account.id AND n.id IN (
           SELECT id FROM account.notices WHERE account_id = $1 AND kind = $2
           ORDER BY created_at DESC, id OFFSET $6)`,
        [accountId, kind, label, ...clientValues, maxNoticesPerKind - 1],
      );
    } catch (error) {
      this.log.error(
        { err: error, accountId, kind },
        'notice of an account change not stored: the account page lacks it; ' +
          'its mail is attempted separately',
      );
    }
    if (!this.mail.hasMailServer) return;
    this.mail.sendInBackground(async () => {
      const account = await this.notices.manager.findOneBy(AccountEntity, { id: accountId });
      const verifiedEmail = account?.emailVerifiedAt ? account.email : null;
      const recipient = details.email === undefined ? verifiedEmail : details.email;
      if (!account || !recipient) return undefined;
      if (!(await this.limits.tryCount('notice', accountId))) return undefined;
      const facts = { name: account.name ?? '', label: label ?? '', address: clientValues[0] };
      return { to: recipient, ...noticeMail(kind, facts, this.config.PUBLIC_URL) };
    });
  }

  /** Returns the newest 30 notices of an account, newest first. */
  list(accountId: string): Promise<Notice[]> {
    return this.notices.find({
      select: { createdAt: true, kind: true, label: true, address: true, userAgent: true },
      where: { accountId },
      order: { createdAt: 'DESC', id: 'ASC' },
      take: maxListedNotices,
    });
  }
}
