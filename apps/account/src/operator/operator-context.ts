import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Failure } from '#contracts';
import { createPool, databaseConfig, rootCauseOf } from '#database';
import {
  AccountEntity,
  createDataSource,
  CredentialEntity,
  LinkEntity,
  NoticeEntity,
} from '#database/typeorm';
import { RevocationWriter } from '#identity';
import { connectRedis, redisConfig } from '#redis';
import { CommandFailed, ConfigurationError, createLog, loadConfig } from '#runtime';
import { StreamClient } from '#transport';
import { z } from 'zod';
import { AppPasswords } from '../credentials/app-passwords.js';
import { Accounts } from '../people/accounts.js';
import { Administrators } from '../people/administrators.js';
import { ErasureRequests } from '../people/erasure-requests.js';
import { AttemptLimits } from '../people/limits.js';
import { Links } from '../people/links.js';
import { Mail } from '../people/mail.js';
import { Notices } from '../people/notices.js';
import { Passwords } from '../people/passwords.js';
import { Refusal, type RefusalCode } from '../people/refusal.js';
import { Registration } from '../people/registration.js';
import { SignOut } from '../people/sign-out.js';

/** Settings of the account app that the operator's commands need. */
const operatorConfig = z.object({
  ...databaseConfig.pick({
    DATABASE_URL: true,
    DATABASE_DISTRIBUTION: true,
    DATABASE_PREPARED: true,
  }).shape,
  ...redisConfig.shape,
  PUBLIC_URL: z
    .url({ protocol: /^https?$/ })
    .default('http://localhost:3002')
    .transform((url) => new URL(url).origin),
});

/**
 * Maximum wait for Redis in milliseconds. Without Redis, `erase` fails; other commands run, but
 * gateways are not notified of ended access.
 */
const maxConnectMs = 2_000;

/** Services that the operator's commands use. */
export interface OperatorContext {
  readonly accounts: Accounts;
  readonly administrators: Administrators;
  readonly links: Links;
  readonly registration: Registration;
  readonly appPasswords: AppPasswords;
  readonly erasureRequests: ErasureRequests;
}

/**
 * Runs a task of an operator's command, connected to the Postgres and Redis of the account app.
 *
 * @throws CommandFailed if the task fails, ConfigurationError for an invalid variable.
 */
export async function withOperatorContext<Result>(
  task: (context: OperatorContext) => Promise<Result>,
  environment: NodeJS.ProcessEnv,
): Promise<Result> {
  const config = loadConfig(operatorConfig, environment);
  const log = createLog('accounts', 'silent');
  const redis = connectRedis(config, { commandTimeout: 2_000 });
  redis.on('error', () => {});
  const client = new StreamClient({ connect: () => connectRedis(config), log });
  const source = createDataSource(
    createPool({
      url: config.DATABASE_URL,
      poolSize: 2,
      applicationName: 'accounts',
      pooled: config.DATABASE_PREPARED === 'off',
      distribution: config.DATABASE_DISTRIBUTION,
    }),
  );
  try {
    await source.initialize();
    // Waits for Redis, since RevocationWriter drops revocations while Redis is disconnected.
    const connectedToRedis = Promise.all([
      client.connect(),
      redis.status === 'ready' || once(redis, 'ready'),
    ]);
    await Promise.race([connectedToRedis, delay(maxConnectMs, undefined, { ref: false })]);
    const revocations = new RevocationWriter(redis, log);
    const signOut = new SignOut(source, revocations);
    const passwords = new Passwords();
    const limits = new AttemptLimits(redis);
    // Commands send no mails, since only the account app has the SMTP settings. Notices are still
    // stored, and shown on the account page.
    const mail = new Mail({ ...config, SMTP_URL: undefined, MAIL_FROM: undefined }, log);
    const notices = new Notices(source.getRepository(NoticeEntity), limits, mail, config, log);
    const accountRepository = source.getRepository(AccountEntity);
    const accounts = new Accounts(accountRepository, passwords, signOut, limits, notices);
    const links = new Links(source.getRepository(LinkEntity), config);
    return await task({
      accounts,
      administrators: new Administrators(accountRepository, notices),
      links,
      registration: new Registration(source, accounts, links, passwords, limits, {
        REGISTRATION: 'invite',
      }),
      appPasswords: new AppPasswords(source.getRepository(CredentialEntity), revocations, notices),
      erasureRequests: new ErasureRequests(client, signOut),
    });
  } catch (error) {
    throw toOperatorError(error);
  } finally {
    await client.close();
    redis.disconnect();
    if (source.isInitialized) await source.destroy();
  }
}

const reasonTexts: Partial<Record<RefusalCode, string>> = {
  name: 'a name must have 1 to 64 of the characters A-Z a-z 0-9 _ . -',
  name_taken: 'the name is taken, or its user id belongs to another account: choose another one',
  erased: 'the data of this user was erased or is being erased, which is permanent',
  link: 'the account is disabled: enable it first',
  last_administrator: 'the account is the only enabled administrator: appoint another one first',
  label: 'the label must have 1 to 64 characters, and at least one letter or digit',
  scopes: 'unknown scope: see "token --help"',
  expiry: 'the lifetime must be positive',
  too_many: 'the account has the maximum number of app passwords: revoke one first',
};

/** Returns an error whose message explains the failure to the operator. */
function toOperatorError(error: unknown): Error {
  if (error instanceof CommandFailed || error instanceof ConfigurationError) return error;
  return new CommandFailed(describeReason(error), { cause: error });
}

function describeReason(error: unknown): string {
  if (error instanceof Refusal) return reasonTexts[error.code] ?? error.code;
  if (error instanceof Failure)
    return `the deletion worker is unavailable (${rootCauseOf(error)}): nothing changed, try again`;
  return (
    `Postgres failed (${rootCauseOf(error)}): ` +
    'check that the system is running and that DATABASE_URL is right'
  );
}
