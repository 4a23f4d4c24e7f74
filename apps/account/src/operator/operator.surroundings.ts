import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import {
  AccountEntity,
  createDataSource,
  CredentialEntity,
  databaseConfig,
  LinkEntity,
  NoticeEntity,
} from '#database';
import { RevocationWriter } from '#identity';
import { connectRedis, redisConfig } from '#redis';
import { createLog, loadConfig } from '#runtime';
import { StreamClient } from '#transport';
import { z } from 'zod';
import { AppPasswords } from '../credentials/app-passwords.js';
import { Accounts } from '../people/accounts.js';
import { Erasure } from '../people/erasure.js';
import { Limits } from '../people/limits.js';
import { Links } from '../people/links.js';
import { Mail } from '../people/mail.js';
import { Notices } from '../people/notices.js';
import { Passwords } from '../people/passwords.js';
import { Registration, RegistrationGate } from '../people/registration.js';
import { SignOut } from '../people/sign-out.js';
import { explained } from './operator.errors.js';

/** Configuration of the operator's programs, a part of that of the account app. */
const operatorConfig = z.object({
  ...databaseConfig.pick({ DATABASE_URL: true, DATABASE_DISTRIBUTION: true }).shape,
  ...redisConfig.shape,
  PUBLIC_URL: z
    .url({ protocol: /^https?$/ })
    .default('http://localhost:3002')
    .transform((url) => new URL(url).origin),
});

/** Maximum wait for Redis at the start in milliseconds; most commands do not need it. */
const connectMs = 2_000;

/** Services of the operator's programs. */
export interface Surroundings {
  readonly accounts: Accounts;
  readonly links: Links;
  readonly registration: Registration;
  readonly appPasswords: AppPasswords;
  readonly erasure: Erasure;
}

/**
 * Runs an operator's task in its own process, on the Postgres and Redis of the account app.
 *
 * @throws CommandFailed, ConfigurationError.
 */
export async function withSurroundings<Result>(
  task: (surroundings: Surroundings) => Promise<Result>,
  environment: NodeJS.ProcessEnv,
): Promise<Result> {
  const config = loadConfig(operatorConfig, environment);
  const log = createLog('accounts', 'silent');
  const redis = connectRedis(config, { commandTimeout: 2_000 });
  redis.on('error', () => {});
  const client = new StreamClient({ connect: () => connectRedis(config), log });
  const source = createDataSource({
    url: config.DATABASE_URL,
    poolSize: 2,
    applicationName: 'accounts',
    distribution: config.DATABASE_DISTRIBUTION,
  });
  try {
    await source.initialize();
    // RevocationWriter drops revocations while Redis is unavailable, so wait for Redis.
    const connected = Promise.all([
      client.connect(),
      redis.status === 'ready' || once(redis, 'ready'),
    ]);
    await Promise.race([connected, delay(connectMs, undefined, { ref: false })]);
    const revocations = new RevocationWriter(redis, log);
    const signOut = new SignOut(source, revocations);
    const passwords = new Passwords();
    const limits = new Limits(redis);
    // Mails are of the account app, which has the settings. The account page shows the notices.
    const mail = new Mail({ ...config, SMTP_URL: undefined, MAIL_FROM: undefined }, log);
    const notices = new Notices(source.getRepository(NoticeEntity), limits, mail, config, log);
    const people = source.getRepository(AccountEntity);
    const accounts = new Accounts(people, passwords, signOut, limits, notices);
    const links = new Links(source.getRepository(LinkEntity), config);
    const gate = new RegistrationGate(limits, { REGISTRATION: 'invite' });
    return await task({
      accounts,
      links,
      registration: new Registration(source, accounts, links, passwords, gate),
      appPasswords: new AppPasswords(source.getRepository(CredentialEntity), revocations, notices),
      erasure: new Erasure(client, signOut),
    });
  } catch (error) {
    throw explained(error);
  } finally {
    await client.close();
    redis.disconnect();
    if (source.isInitialized) await source.destroy();
  }
}
