import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { Log } from '#runtime';
import { createTransport, type Transporter } from 'nodemailer';
import { LOG } from '../account.config.js';
import { PEOPLE_CONFIG, type PeopleConfig } from './people.config.js';

/** An e-mail in plain text, without its sender. */
export interface MailMessage {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** Timeout in milliseconds of each SMTP step: DNS lookup, connection, greeting, idle socket. */
const stepTimeoutMs = 10_000;
/** Maximum number of mails in progress. Further mails are dropped with a warning. */
const maxMailsInProgress = 50;

const mailAddressPattern =
  /^[^\s@"<>(),:;[\]\\]{1,64}@(?=[^@]{1,255}$)[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}$/u;

/**
 * Returns true if the text is one plain e-mail address. Rejects syntax that mail servers interpret
 * differently, such as quotes and comments.
 */
export function isMailAddress(text: string): boolean {
  return text.length <= 254 && mailAddressPattern.test(text);
}

/** Sends mails through the SMTP server of `SMTP_URL`; without the setting, sends none. */
@Injectable()
export class Mail implements OnApplicationShutdown {
  private readonly transport: Transporter | undefined;
  private readonly sender: string;
  private readonly mailsInProgress = new Set<Promise<void>>();

  constructor(
    @Inject(PEOPLE_CONFIG) config: Pick<PeopleConfig, 'SMTP_URL' | 'MAIL_FROM' | 'PUBLIC_URL'>,
    @Inject(LOG) private readonly log: Log,
  ) {
    this.sender =
      config.MAIL_FROM ?? `Podcast Sync <podcast-sync@${new URL(config.PUBLIC_URL).hostname}>`;
    if (config.SMTP_URL === undefined) return;
    this.transport = createTransport({
      url: config.SMTP_URL,
      connectionTimeout: stepTimeoutMs,
      greetingTimeout: stepTimeoutMs,
      socketTimeout: stepTimeoutMs,
      dnsTimeout: stepTimeoutMs,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
  }

  /** True if an SMTP server is configured. */
  get hasMailServer(): boolean {
    return this.transport !== undefined;
  }

  /**
   * Sends a mail in the background, so that response times do not reveal if a recipient exists.
   * Failures are logged without the address.
   *
   * @param composeMail returns the mail, or `undefined` to send none.
   */
  sendInBackground(composeMail: () => Promise<MailMessage | undefined>): void {
    if (!this.transport) return this.log.warn('mail dropped: SMTP_URL is not set');
    const mailsInProgress = this.mailsInProgress.size;
    if (mailsInProgress >= maxMailsInProgress)
      return this.log.warn(
        { mailsInProgress },
        'mail dropped, not retried: too many mails in progress; check the SMTP server',
      );
    const delivery: Promise<void> = this.composeAndSend(this.transport, composeMail).finally(() =>
      this.mailsInProgress.delete(delivery),
    );
    this.mailsInProgress.add(delivery);
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.mailsInProgress);
    this.transport?.close();
  }

  private async composeAndSend(
    transport: Transporter,
    composeMail: () => Promise<MailMessage | undefined>,
  ): Promise<void> {
    const message = await composeMail().catch((error: unknown) => {
      this.log.error(
        { err: error },
        'mail not sent and not retried: Postgres unavailable while reading the account or ' +
          'creating the link, or internal error',
      );
      return undefined;
    });
    if (!message) return;
    try {
      // The header `Auto-Submitted` prevents automatic replies, such as out-of-office mails.
      const headers = { 'Auto-Submitted': 'auto-generated' };
      await transport.sendMail({ from: this.sender, ...message, headers });
    } catch (error) {
      // The SMTP server's message is not logged, since it can contain the recipient's address.
      const { code, responseCode, name } = error as {
        code?: string;
        responseCode?: number;
        name?: string;
      };
      const fields = { code, responseCode, errorName: name };
      this.log.error(
        fields,
        'mail not sent and not retried: SMTP server unavailable, or it rejected the mail',
      );
    }
  }
}
