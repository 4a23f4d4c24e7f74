import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { Log } from '#runtime';
import { createTransport, type Transporter } from 'nodemailer';
import { LOG } from '../account.config.js';
import { PEOPLE, type PeopleConfig } from './people.config.js';

/** A mail in plain text. */
export interface Message {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** How long a mail server may take for each step, in milliseconds. */
const patienceMs = 10_000;
/** Mails that are sent or wait at the same time. */
const mostAtOnce = 50;

/** What an address must look like; whether it exists, only a mail tells. */
const addressPattern = /^[^\s@"<>(),:;[\]\\]{1,64}@(?=[^@]{1,255}$)[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}$/u;

/** Whether a mail can be sent to an address: one, in its plain form, without anything that could be read as another. */
export function isMailAddress(text: string): boolean {
  return text.length <= 254 && addressPattern.test(text);
}

/** Sends mails by the operator's server, where there is one. */
@Injectable()
export class Mail implements OnApplicationShutdown {
  private readonly transport: Transporter | undefined;
  private readonly from: string;
  private readonly sending = new Set<Promise<void>>();

  constructor(
    @Inject(PEOPLE) config: Pick<PeopleConfig, 'SMTP_URL' | 'MAIL_FROM' | 'PUBLIC_URL'>,
    @Inject(LOG) private readonly log: Log,
  ) {
    this.from = config.MAIL_FROM ?? `Podcast Sync <podcast-sync@${new URL(config.PUBLIC_URL).hostname}>`;
    if (config.SMTP_URL === undefined) return;
    this.transport = createTransport({
      url: config.SMTP_URL,
      connectionTimeout: patienceMs,
      greetingTimeout: patienceMs,
      socketTimeout: patienceMs,
      dnsTimeout: patienceMs,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
  }

  /** Whether mails can be sent at all. */
  get isOn(): boolean {
    return this.transport !== undefined;
  }

  /**
   * Sends a mail some time soon. Nobody waits for it, so that how long it takes, and whether there is anybody to send it
   * to, can't be seen from outside. A failure is logged, without the address.
   *
   * @param make the mail; `undefined` where there is none to send after all.
   */
  soon(make: () => Promise<Message | undefined>): void {
    if (!this.transport || this.sending.size >= mostAtOnce) {
      this.log.warn({ isOn: this.isOn, sending: this.sending.size }, 'a mail is not sent');
      return;
    }
    const sent: Promise<void> = this.send(this.transport, make).finally(() => this.sending.delete(sent));
    this.sending.add(sent);
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.sending);
    this.transport?.close();
  }

  private async send(transport: Transporter, make: () => Promise<Message | undefined>): Promise<void> {
    try {
      const message = await make();
      // The header keeps a robot that answers mails from answering.
      if (message)
        await transport.sendMail({ from: this.from, ...message, headers: { 'Auto-Submitted': 'auto-generated' } });
    } catch (error) {
      const { code, responseCode, name } = error as { code?: string; responseCode?: number; name?: string };
      this.log.error({ code, responseCode, name }, 'a mail could not be sent');
    }
  }
}
