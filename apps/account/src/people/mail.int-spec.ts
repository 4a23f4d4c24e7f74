import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { eventually } from '#testing';
import { SMTPServer } from 'smtp-server';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { outcomeOf } from '../../testing/outcome.js';
import { openPeople, type PeopleFixture } from '../../testing/people.fixture.js';
import { Accounts } from './accounts.js';
import { Emails } from './emails.js';
import { AttemptLimits } from './limits.js';
import { Links } from './links.js';
import { Notices } from './notices.js';
import { PasswordReset } from './password-reset.js';
import { SignIn } from './sign-in.js';

let fixture: PeopleFixture;
let emails: Emails;
let server: SMTPServer;
let accountId: string;
let name: string;
let email: string;

/** Received mails: recipients and raw text. */
const mails: { to: string[]; text: string }[] = [];

beforeAll(async () => {
  server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData(stream, session, done) {
      const parts: Buffer[] = [];
      stream.on('data', (part: Buffer) => parts.push(part));
      stream.on('end', () => {
        const to = session.envelope.rcptTo.map(({ address }) => address);
        mails.push({ to, text: Buffer.concat(parts).toString('utf8') });
        done();
      });
    },
  });
  server.on('error', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.server.address() as AddressInfo;
  fixture = await openPeople({
    SMTP_URL: `smtp://127.0.0.1:${port}`,
    MAIL_FROM: 'Podcasts <podcasts@example.com>',
  });
  emails = fixture.app.get(Emails);
});
afterAll(async () => {
  await fixture.close();
  await new Promise<void>((resolve) => server.close(() => resolve()));
});
beforeEach(async () => {
  name = `ann-${randomUUID()}`;
  email = `${name}@example.com`;
  accountId = (await fixture.app.get(Accounts).create({ name })).id;
});

let network = 0;
const address = () => `10.2.${(network += 1)}.1`;
/** Returns secret and text of the last mail to an address. Mails are quoted-printable. */
const linkTo = (to: string) =>
  eventually(() => {
    const mail = mails.findLast((one) => one.to.includes(to));
    const text = (mail?.text ?? '').replaceAll('=\r\n', '').replaceAll('=3D', '=');
    const [, secret] = /https:\/\/accounts\.example\/links\/([\w-]{43})/.exec(text) ?? [];
    if (secret === undefined) throw new Error(`no mail to ${to}`);
    return { secret, text };
  });
async function verified(): Promise<void> {
  await emails.requestVerification(accountId, email, 'en');
  await emails.verifyAddress((await linkTo(email)).secret);
}

describe('a mail address', () => {
  it('is verified by the link in a mail, which works once', async () => {
    await emails.requestVerification(accountId, email, 'en');
    const { secret, text } = await linkTo(email);
    expect(text).toContain('From: Podcasts <podcasts@example.com>');
    expect((await fixture.app.get(Accounts).find(accountId))?.email).toBeNull();
    expect(await emails.verifyAddress(secret)).toBe(email);
    expect((await fixture.app.get(Accounts).find(accountId))?.email).toBe(email);
    expect(await outcomeOf(emails.verifyAddress(secret))).toBe('link');
    await emails.removeAddress(accountId);
    expect((await fixture.app.get(Accounts).find(accountId))?.email).toBeNull();
  });

  it('is validated before a mail is sent', async () => {
    expect(
      await outcomeOf(
        emails.requestVerification(accountId, 'ann@example.com\r\nBcc: x@example.com', 'en'),
      ),
    ).toBe('email');
  });

  it('gets at most five mails an hour per account', async () => {
    for (let count = 0; count < 5; count += 1)
      await emails.requestVerification(accountId, email, 'de');
    expect(await outcomeOf(emails.requestVerification(accountId, email, 'de'))).toBe('limited');
  });
});

describe('an invitation', () => {
  const by = async () => {
    const { session } = await fixture.app
      .get(SignIn)
      .signInWithoutPassword(accountId, { address: '192.0.2.1', userAgent: '' });
    return { accountId, session: session.id };
  };

  it('is mailed with its link, in the language of the page', async () => {
    await emails.sendInvitation(email, 'de', await by());
    const { secret, text } = await linkTo(email);
    expect(text).toContain('Hallo');
    expect(await fixture.app.get(Links).readLink(secret)).toMatchObject({ kind: 'invite' });
  });

  it('is mailed to valid addresses, 50 per day and administrator', async () => {
    const administrator = await by();
    const send = (to: string) => outcomeOf(emails.sendInvitation(to, 'en', administrator));
    expect(await send('ann@example.com, bob@example.com')).toBe('email');
    for (let count = 0; count < 50; count += 1)
      await fixture.app.get(AttemptLimits).count('invitation', accountId);
    expect(await send(email)).toBe('limited');
  });
});

describe('a forgotten password', () => {
  it('is reset by a link to the verified address, in the language of the page', async () => {
    await verified();
    await emails.sendResetLink(name.toUpperCase(), address(), 'de');
    const { secret, text } = await eventually(async () => {
      const mail = await linkTo(email);
      expect(mail.text).toContain('Hallo');
      return mail;
    });
    expect(text).toContain('Auto-Submitted: auto-generated');
    const visitor = { address: '192.0.2.1', userAgent: 'Firefox' };
    await fixture.app.get(PasswordReset).resetByLink(secret, 'another sentence', visitor);
    await eventually(() =>
      expect(mails.findLast(({ to }) => to.includes(email))?.text).toContain('Hinweis zum Konto'),
    );
  });

  it('sends nothing for unknown names, unverified addresses and disabled accounts', async () => {
    await verified();
    await fixture.app.get(Accounts).disable(accountId);
    const before = mails.length;
    const other = `o-${randomUUID()}`;
    const { id } = await fixture.app.get(Accounts).create({ name: other });
    await fixture.owner.query('UPDATE account.accounts SET email = $2 WHERE id = $1', [
      id,
      `${other}@example.com`,
    ]);
    for (const one of ['nobody', name, other])
      expect(await outcomeOf(emails.sendResetLink(one, address(), 'en'))).toBe('none');
    // This mail was sent last, so earlier mails would have arrived too.
    const third = await fixture.app.get(Accounts).create({ name: `t-${randomUUID()}` });
    await emails.requestVerification(third.id, 'third@example.com', 'en');
    await linkTo('third@example.com');
    expect(mails.slice(before).map(({ to }) => to)).toEqual([['third@example.com']]);
  });

  it('can be reset 20 times a day per network', async () => {
    const from = address();
    for (let count = 0; count < 20; count += 1)
      await emails.sendResetLink(`nobody-${count}`, from, 'en');
    expect(await outcomeOf(emails.sendResetLink('nobody', from, 'en'))).toBe('limited');
  });
});

describe('a notice', () => {
  it('is sent only to the verified address, in all languages', async () => {
    const notices = fixture.app.get(Notices);
    await notices.addNotice(accountId, 'password');
    await verified();
    await notices.addNotice(accountId, 'app_password', undefined, { label: 'My phone' });
    await eventually(() => {
      const texts = mails
        .filter(({ to, text }) => to.includes(email) && text.includes('Hinweis zum Konto'))
        .map(({ text }) => text.replaceAll('=\r\n', ''));
      expect(texts).toHaveLength(1);
      expect(texts[0]).toContain('A new app password was created');
      expect(texts[0]).toContain('Hallo');
    });
  });

  it('of another address is sent to the previous one', async () => {
    await verified();
    const before = email;
    email = `new-${email}`;
    await verified();
    await eventually(() => {
      const last = mails.findLast(({ to }) => to.includes(before));
      expect(last?.text).toContain('Hinweis zum Konto');
    });
  });
});

describe('without a mail server', () => {
  it('no mail is offered', async () => {
    const without = await openPeople();
    try {
      const service = without.app.get(Emails);
      expect(service.hasMailServer).toBe(false);
      expect(await outcomeOf(service.sendResetLink('ann', address(), 'en'))).toBe('unavailable');
    } finally {
      await without.close();
    }
  });

  it('that responds, requests neither wait nor fail', async () => {
    const port = (server.server.address() as AddressInfo).port;
    const away = await openPeople({ SMTP_URL: `smtp://127.0.0.1:${port === 1 ? 2 : 1}` });
    try {
      const { id } = await away.app.get(Accounts).create({ name: 'ann' });
      expect(
        await outcomeOf(away.app.get(Emails).requestVerification(id, 'ann@example.com', 'en')),
      ).toBe('none');
    } finally {
      await away.close();
    }
  });
});
