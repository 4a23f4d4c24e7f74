import type { Language } from '#ui';
import type { Message } from './mail.js';

interface MailTexts {
  reset(name: string, url: string): Omit<Message, 'to'>;
  verify(name: string, url: string): Omit<Message, 'to'>;
}

const en: MailTexts = {
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

/** Mails with a password-reset or verification link, by language, without their recipient. */
export const mailTexts: Readonly<Record<Language, MailTexts>> = { en, de };
