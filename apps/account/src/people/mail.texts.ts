import type { Language } from '#ui';
import type { Message } from './mail.js';

interface MailTexts {
  reset(name: string, url: string): Omit<Message, 'to'>;
  verify(name: string, url: string): Omit<Message, 'to'>;
}

const en: MailTexts = {
  reset: (name, url) => ({
    subject: 'A new password for Podcast Sync',
    text: `Hello ${name},

somebody, hopefully you, asked for a new password of your account at Podcast Sync.
With this link you choose one. It works once, within an hour:

${url}

If it was not you, there is nothing to do: nothing has changed.
`,
  }),
  verify: (name, url) => ({
    subject: 'Your mail address for Podcast Sync',
    text: `Hello ${name},

this address was entered for your account at Podcast Sync. With this link you confirm it, within a day:

${url}

If it was not you, there is nothing to do: the address is not used then.
`,
  }),
};

const de: MailTexts = {
  reset: (name, url) => ({
    subject: 'Ein neues Passwort für Podcast Sync',
    text: `Hallo ${name},

jemand, hoffentlich du, möchte ein neues Passwort für dein Konto bei Podcast Sync.
Mit diesem Link wählst du eines. Er gilt einmal, eine Stunde lang:

${url}

Wenn du es nicht warst, ist nichts zu tun: Es hat sich nichts geändert.
`,
  }),
  verify: (name, url) => ({
    subject: 'Deine Mailadresse für Podcast Sync',
    text: `Hallo ${name},

diese Adresse wurde für dein Konto bei Podcast Sync eingetragen. Mit diesem Link bestätigst du sie, einen Tag lang:

${url}

Wenn du es nicht warst, ist nichts zu tun: Die Adresse wird dann nicht verwendet.
`,
  }),
};

export const mailTexts: Readonly<Record<Language, MailTexts>> = { en, de };
