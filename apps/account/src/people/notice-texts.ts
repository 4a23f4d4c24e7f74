import { type Language, languages } from '#ui';
import type { MailMessage } from './mail.js';
import type { Notice } from './notices.js';

/** Sentences of notices, by language and kind. `label` names an app password or passkey. */
export const noticeTexts: Readonly<
  Record<Language, { readonly [Kind in Notice['kind']]: (label: string) => string }>
> = {
  en: {
    password: () => 'Your password was changed.',
    second_factor_off: () => 'The second step was switched off.',
    recovery_codes: () => 'New recovery codes were created. The previous ones no longer work.',
    app_password: (label) => `A new app password was created: “${label}”.`,
    sign_in: () => 'A new browser signed in to your account.',
    email: () => 'Your e-mail address was changed or removed.',
    appointed: () => 'You are now an administrator of this server.',
    dismissed: () => 'You are no longer an administrator of this server.',
    passkey: (label) => `A new passkey was added: “${label}”.`,
    passkey_removed: (label) => `A passkey was removed: “${label}”.`,
  },
  de: {
    password: () => 'Dein Passwort wurde geändert.',
    second_factor_off: () => 'Der zweite Schritt wurde ausgeschaltet.',
    recovery_codes: () =>
      'Neue Wiederherstellungscodes wurden erstellt. Die bisherigen gelten nicht mehr.',
    app_password: (label) => `Ein neues App-Passwort wurde angelegt: „${label}“.`,
    sign_in: () => 'Ein neuer Browser hat sich bei deinem Konto angemeldet.',
    email: () => 'Deine E-Mail-Adresse wurde geändert oder entfernt.',
    appointed: () => 'Du verwaltest jetzt die Konten dieses Servers.',
    dismissed: () => 'Du verwaltest die Konten dieses Servers nicht mehr.',
    passkey: (label) => `Ein neuer Passkey wurde hinzugefügt: „${label}“.`,
    passkey_removed: (label) => `Ein Passkey wurde entfernt: „${label}“.`,
  },
};

/** Values that the text of a notice contains. */
interface NoticeFacts {
  /** Name of the account; empty if it has none. */
  readonly name: string;
  /** Label of the app password or passkey; empty for other kinds. */
  readonly label: string;
  /** IP address of the client that made the change; empty for a change by the operator. */
  readonly address: string;
}

const mailParagraphs: Readonly<
  Record<Language, (facts: NoticeFacts, sentence: string, publicUrl: string) => readonly string[]>
> = {
  en: ({ name, address }, sentence, publicUrl) => [
    `Hello ${name},`,
    `${sentence}${address && ` Requested from: ${address}`}`,
    'If it was you, ignore this mail.',
    'If not, end sessions and apps that you do not recognize and change your password:\n' +
      `${publicUrl}/account`,
  ],
  de: ({ name, address }, sentence, publicUrl) => [
    `Hallo ${name},`,
    `${sentence}${address && ` Angefragt von: ${address}`}`,
    'Wenn du es warst, ignoriere diese Mail.',
    `Sonst beende unbekannte Anmeldungen und Apps und ändere dein Passwort:\n${publicUrl}/account`,
  ],
};

/**
 * Returns the mail of a notice, in all languages, because the browser that made the change can have
 * another language than the owner of the account.
 */
export function noticeMail(
  kind: Notice['kind'],
  facts: NoticeFacts,
  publicUrl: string,
): Omit<MailMessage, 'to'> {
  const mailText = languages
    .map((language) =>
      mailParagraphs[language](facts, noticeTexts[language][kind](facts.label), publicUrl).join(
        '\n\n',
      ),
    )
    .join('\n\n---\n\n');
  return {
    subject: 'Podcast Sync: account notice / Hinweis zum Konto',
    text: `${mailText}\n`,
  };
}
