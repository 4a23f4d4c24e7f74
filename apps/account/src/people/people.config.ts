import { z } from 'zod';

/** Settings of registration and sign-in, as part of the configuration of `account`. */
export const peopleConfig = z.object({
  REGISTRATION: z
    .enum(['invite', 'open', 'closed'])
    .default('invite')
    .describe(
      'Registration of accounts: by invitation, open to everybody, or closed. ' +
        'The operator can always create accounts.',
    ),
  SECRETS_KEY: z
    .string()
    .regex(
      /^[^\s,]{32,1000}(,[^\s,]{32,1000}){0,4}$/,
      'must have at least 32 characters without commas and spaces',
    )
    .describe(
      'Encrypts stored second factors and cookies; at least 32 random characters. ' +
        '`new,old` replaces a key: the first one encrypts, all of them decrypt.',
    ),
  SMTP_URL: z
    .url({ protocol: /^smtps?$/ })
    .optional()
    .describe(
      'Mail server for password resets, address verification and notices of account changes. ' +
        'Not set: no mail is sent.',
    ),
  MAIL_FROM: z
    .string()
    .max(320)
    .optional()
    .describe('Sender of mails, such as `Podcasts <podcasts@example.com>`.'),
});

/** Settings of {@link peopleConfig} with the origin of the pages. */
export type PeopleConfig = z.output<typeof peopleConfig> & {
  /** Origin of the pages, without a trailing slash. */
  readonly PUBLIC_URL: string;
};

/** Injection token of {@link PeopleConfig}. */
export const PEOPLE_CONFIG = Symbol('people');
