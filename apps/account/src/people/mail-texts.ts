import type { Language } from '#ui';
import type { MailMessage } from './mail.js';

interface MailTexts {
  invite(url: string): Omit<MailMessage, 'to'>;
  reset(name: string, url: string): Omit<MailMessage, 'to'>;
  verify(name: string, url: string): Omit<MailMessage, 'to'>;
}

const en: MailTexts = {
  invite: (url) => ({
    subject: 'Your invitation to Podcast Sync',
    text: `Hello,

you are invited to Podcast Sync, which keeps your podcasts the same on all your devices.
Create your account with this link. It works once, within seven days:

${url}

If you do not expect this invitation, ignore this mail.
`,
  }),
  reset: (name, url) => ({
    subject: 'Reset your password for Podcast Sync',
    text: `Hello ${name},

somebody, hopefully you, asked to reset the password of your account at Podcast Sync.
Choose a new password with this link. It works once, within one hour:

${url}

If it was not you, ignore this mail. Nothing has changed.
`,
  }),
  verify: (name, url) => ({
    subject: 'Confirm your e-mail address for Podcast Sync',
    text: `Hello ${name},

this e-mail address was entered for your account at Podcast Sync.
Confirm it with this link. It works once, within one day:

${url}

If it was not you, ignore this mail. The address will not be used.
`,
  }),
};

const de: MailTexts = {
  invite: (url) => ({
    subject: 'Deine Einladung zu Podcast Sync',
    text: `Hallo,

du bist zu Podcast Sync eingeladen. Damit sind deine Podcasts auf allen Geräten gleich.
Leg mit diesem Link dein Konto an. Er gilt einmal, sieben Tage lang:

${url}

Wenn du keine Einladung erwartest, ignoriere diese Mail.
`,
  }),
  reset: (name, url) => ({
    subject: 'Setze dein Passwort für Podcast Sync zurück',
    text: `Hallo ${name},

jemand, hoffentlich du, möchte das Passwort deines Kontos bei Podcast Sync zurücksetzen.
Wähle mit diesem Link ein neues Passwort. Er gilt einmal, eine Stunde lang:

${url}

Wenn du es nicht warst, ignoriere diese Mail. Es hat sich nichts geändert.
`,
  }),
  verify: (name, url) => ({
    subject: 'Bestätige deine E-Mail-Adresse für Podcast Sync',
    text: `Hallo ${name},

diese E-Mail-Adresse wurde für dein Konto bei Podcast Sync eingetragen.
Bestätige sie mit diesem Link. Er gilt einmal, einen Tag lang:

${url}

Wenn du es nicht warst, ignoriere diese Mail. Die Adresse wird dann nicht verwendet.
`,
  }),
};

/** Mails with an invitation, reset or verification link, by language, without recipient. */
export const mailTexts: Readonly<Record<Language, MailTexts>> = { en, de };
