import { Inject, Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type AccountEntity, PasskeyEntity } from '#database/typeorm';
import type { Log } from '#runtime';
import {
  type AuthenticationResponseJSON,
  generateAuthenticationOptions,
  generateRegistrationOptions,
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  type RegistrationResponseJSON,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from '@simplewebauthn/server';
import { decodeAttestationObject } from '@simplewebauthn/server/helpers';
import type { EntityManager, Repository } from 'typeorm';
import { z } from 'zod';
import { LOG } from '../account.config.js';
import type { Account } from './accounts.js';
import { cleanLabel } from './label.rules.js';
import { Notices } from './notices.js';
import { passkeySite } from './passkey-site.rules.js';
import { PEOPLE_CONFIG, type PeopleConfig } from './people.config.js';
import { queryRows } from './query-rows.js';
import { Refusal } from './refusal.js';
import { Seal } from './seal.js';
import { type ActingSession, lockSession } from './sessions.js';

/** A passkey as its owner sees it. */
export type Passkey = Pick<
  PasskeyEntity,
  'id' | 'label' | 'transports' | 'createdAt' | 'lastUsedAt' | 'suspendedAt'
>;

/** Request of a browser that creates or uses a passkey. */
export interface PasskeyRequest {
  /** Header `Host` of the request. */
  readonly host?: string | undefined;
  /**
   * The challenge is valid only together with this value: the id of a session, the ticket of the
   * second step of a sign-in, or the value of a browser's cookie.
   */
  readonly binding: string;
}

/** Response of a browser to the challenge of a passkey. */
export interface PasskeyResponse extends PasskeyRequest {
  /** JSON of a `PublicKeyCredential`, as the browser sent it. */
  readonly credential: string;
}

/** Account whose passkey was verified, with the function that records the use. */
export interface VerifiedPasskey {
  readonly account: AccountEntity;
  /** Records the passkey's use in the transaction of the new session. @throws Refusal `passkey`. */
  readonly recordUse: (manager: EntityManager) => Promise<void>;
}

const sealPurpose = 'passkey challenge';
/** Time after which a challenge expires, in milliseconds. */
export const challengeLifetimeMs = 10 * 60_000;

/** Maximum number of passkeys per account. Further ones are refused. */
const maxPasskeys = 20;

/** Maximum characters of a response; longer ones are refused. Post-quantum keys need ~10,000. */
const maxResponseLength = 16_384;

const responseSchema = z.looseObject({
  id: z.string().regex(/^[\w-]{1,1400}$/),
  response: z.looseObject({ transports: z.array(z.string().max(32)).max(10).optional() }),
});

/** SQL of the latest accepted time of a challenge. Later times come from a clock that was ahead. */
const latestChallengeTime = "now() + interval '10 minutes'";

/**
 * SQL that accepts the challenge created at `$2` once, and locks the account `$1`. Returns no row
 * for a challenge later than {@link latestChallengeTime}, or not later than the last accepted one.
 * A stored time later than {@link latestChallengeTime} is ignored, since it would block passkeys.
 */
const acceptChallenge = `UPDATE account.accounts SET passkey_challenge_at = $2
  WHERE id = $1 AND $2 <= ${latestChallengeTime}
    AND (passkey_challenge_at IS NULL OR passkey_challenge_at < $2
      OR passkey_challenge_at > ${latestChallengeTime})
  RETURNING id`;

/**
 * Passkeys (WebAuthn Level 3): sign-in without a password, or second factor after the password.
 * Invariants:
 * - A challenge is a sealed time. It is valid for 10 minutes, for one session, ticket or browser.
 * - Each challenge is accepted once. Challenges older than the last accepted one of the account are
 *   rejected, unless a wrong clock dated the accepted one more than 10 minutes into the future.
 * - A signature counter that does not grow is rejected, unless the authenticator does not count.
 * - A suspended passkey is a second factor only. Its use after the password ends the suspension.
 */
@Injectable()
export class Passkeys {
  constructor(
    @InjectRepository(PasskeyEntity) private readonly passkeys: Repository<PasskeyEntity>,
    private readonly sealing: Seal,
    private readonly notices: Notices,
    @Inject(PEOPLE_CONFIG) private readonly config: Pick<PeopleConfig, 'PUBLIC_URL'>,
    @Inject(LOG) private readonly log: Log,
  ) {}

  /** Returns the passkeys of an account, newest first. */
  list(accountId: string): Promise<Passkey[]> {
    return this.passkeys.find({
      select: {
        id: true,
        label: true,
        transports: true,
        createdAt: true,
        lastUsedAt: true,
        suspendedAt: true,
      },
      where: { accountId },
      order: { createdAt: 'DESC', id: 'ASC' },
      take: maxPasskeys,
    });
  }

  /**
   * Returns the options (`PublicKeyCredentialCreationOptionsJSON`) with which a browser creates a
   * passkey; undefined if the address has no {@link passkeySite}.
   */
  async creationOptions(
    { id, name }: Pick<Account, 'id' | 'name'>,
    { host, binding }: PasskeyRequest,
  ): Promise<PublicKeyCredentialCreationOptionsJSON | undefined> {
    const site = passkeySite(this.config.PUBLIC_URL, host);
    if (!site) return undefined;
    return generateRegistrationOptions({
      rpName: 'Podcast Sync',
      rpID: site.id,
      userName: name ?? id,
      userID: new TextEncoder().encode(id),
      challenge: this.createChallenge(binding),
      timeout: challengeLifetimeMs,
      excludeCredentials: (await this.list(id)).map(toDescriptor),
      // A resident key identifies the account, so that nobody types a name. The authenticator
      // verifies the user, for example by a PIN, which replaces the password.
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    });
  }

  /**
   * Returns the options (`PublicKeyCredentialRequestOptionsJSON`) with which a browser uses a
   * passkey; undefined if the address has no {@link passkeySite}.
   *
   * @param accountId account of the second step; undefined for a sign-in without a password.
   */
  async requestOptions(
    { host, binding }: PasskeyRequest,
    accountId?: string,
  ): Promise<PublicKeyCredentialRequestOptionsJSON | undefined> {
    const site = passkeySite(this.config.PUBLIC_URL, host);
    if (!site) return undefined;
    return generateAuthenticationOptions({
      rpID: site.id,
      challenge: this.createChallenge(binding),
      timeout: challengeLifetimeMs,
      userVerification: accountId === undefined ? 'required' : 'preferred',
      allowCredentials:
        accountId === undefined ? [] : (await this.list(accountId)).map(toDescriptor),
    });
  }

  /**
   * Adds a passkey that a browser created with {@link creationOptions}.
   *
   * @param by current session.
   * @throws Refusal `label`, `passkey`, `passkeys_full`; `credentials` if the session has ended.
   */
  async addPasskey(
    accountId: string,
    { label: enteredLabel, ...answer }: PasskeyResponse & { label: string },
    by: ActingSession,
  ): Promise<void> {
    const label = cleanLabel(enteredLabel);
    if (label === '') throw new Refusal('label');
    const response = parseResponse(answer.credential) as unknown as RegistrationResponseJSON;
    const { result, challengedAt } = await this.verifyResponse(answer, async (expected) => {
      checkAttestation(response.response.attestationObject);
      const verified = await verifyRegistrationResponse({ ...expected, response });
      return verified.registrationInfo?.credential;
    });
    const { id, publicKey, counter, transports = [] } = result;
    await this.passkeys.manager.transaction(async (manager) => {
      const acceptedRows = await queryRows(manager, acceptChallenge, [accountId, challengedAt]);
      if (acceptedRows.length === 0) throw new Refusal('passkey');
      await lockSession(manager, by.id);
      if ((await manager.countBy(PasskeyEntity, { accountId })) >= maxPasskeys)
        throw new Refusal('passkeys_full');
      const insertedRows = await queryRows(
        manager,
        `INSERT INTO account.passkeys (id, account_id, public_key, counter, transports, label)
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (id) DO NOTHING RETURNING 1`,
        [decodeId(id), accountId, Buffer.from(publicKey), counter, transports, label],
      );
      if (insertedRows.length === 0) throw new Refusal('passkey');
    });
    await this.notices.addNotice(accountId, 'passkey', by, { label });
  }

  /** Removes a passkey. Idempotent. @param id in base64url. */
  async removePasskey(accountId: string, id: string, by: ActingSession): Promise<void> {
    const [deletedRow] = await queryRows<{ label: string }>(
      this.passkeys.manager,
      'DELETE FROM account.passkeys WHERE account_id = $1 AND id = $2 RETURNING label',
      [accountId, decodeId(id)],
    );
    if (deletedRow) await this.notices.addNotice(accountId, 'passkey_removed', by, deletedRow);
  }

  /**
   * Verifies a passkey that replaces the password, or that is the second factor.
   *
   * @param accountId account whose password was correct; undefined if the passkey replaces the
   *   password: the authenticator must then have verified its user, such as by a PIN.
   * @throws Refusal `passkey`, also if the account is disabled or signs in at an OpenID provider.
   */
  async verifyUse(answer: PasskeyResponse, accountId?: string): Promise<VerifiedPasskey> {
    const response = parseResponse(answer.credential) as unknown as AuthenticationResponseJSON;
    const id = decodeId(response.id);
    const [passkey] = await this.passkeys.find({ where: { id }, relations: { account: true } });
    const account = passkey?.account;
    if (!account || account.disabledAt || account.issuer !== null) throw new Refusal('passkey');
    if (accountId !== undefined && accountId !== account.id) throw new Refusal('passkey');
    const { result, challengedAt } = await this.verifyResponse(answer, async (expected) => {
      const { verified, authenticationInfo } = await verifyAuthenticationResponse({
        ...expected,
        response,
        // The SQL of `recordUse` compares the counters, since uses can be concurrent.
        credential: { id: response.id, publicKey: new Uint8Array(passkey.publicKey), counter: 0 },
        requireUserVerification: accountId === undefined,
      });
      return verified ? authenticationInfo : undefined;
    });
    const recordUse = async (manager: EntityManager) => {
      const changedRows = await queryRows(
        manager,
        `WITH accepted AS (${acceptChallenge})
         UPDATE account.passkeys p
         SET counter = $4, last_used_at = now(), suspended_at = NULL FROM accepted
         WHERE p.account_id = accepted.id AND p.id = $3
           AND (p.counter < $4 OR (p.counter = 0 AND $4 = 0))
           AND (p.suspended_at IS NULL OR $5)
         RETURNING 1`,
        [account.id, challengedAt, id, result.newCounter, accountId !== undefined],
      );
      if (changedRows.length === 0) throw new Refusal('passkey');
    };
    return { account, recordUse };
  }

  /** Verifies a response by `verify`, a call of the library. @throws Refusal `passkey`. */
  private async verifyResponse<Result extends object>(
    { host, binding }: PasskeyRequest,
    verify: (expected: ExpectedResponse) => Promise<Result | undefined>,
  ): Promise<{ result: Result; challengedAt: Date }> {
    const site = passkeySite(this.config.PUBLIC_URL, host);
    let challengedAt: Date | undefined;
    try {
      if (!site) throw new Error('address without passkeys');
      const result = await verify({
        expectedOrigin: site.origin,
        expectedRPID: site.id,
        expectedChallenge: (challenge) => {
          challengedAt = this.openChallenge(challenge, binding);
          return challengedAt !== undefined;
        },
      });
      if (result && challengedAt) return { result, challengedAt };
    } catch (error) {
      this.log.debug({ err: error }, 'passkey rejected');
    }
    throw new Refusal('passkey');
  }

  private createChallenge(binding: string) {
    return new Uint8Array(this.sealing.seal(sealPurpose, String(Date.now()), binding));
  }

  /** Returns the creation time of a challenge; undefined if forged, expired or bound otherwise. */
  private openChallenge(challenge: string, binding: string): Date | undefined {
    const sealedTime = this.sealing.open(sealPurpose, Buffer.from(challenge, 'base64url'), binding);
    const createdMs = Number(sealedTime);
    const isValid = sealedTime !== undefined && Date.now() < createdMs + challengeLifetimeMs;
    return isValid ? new Date(createdMs) : undefined;
  }
}

/** Expected origin, domain and challenge of a passkey response, as options of the library. */
interface ExpectedResponse {
  readonly expectedOrigin: string;
  readonly expectedRPID: string;
  readonly expectedChallenge: (challenge: string) => boolean;
}

const decodeId = (id: string) => Buffer.from(id, 'base64url');

const toDescriptor = ({ id, transports }: Passkey) => ({
  id: id.toString('base64url'),
  transports,
});

/** Parses a response, and checks what the library does not check. @throws Refusal `passkey`. */
function parseResponse(credential: string): z.output<typeof responseSchema> {
  try {
    return responseSchema.parse(JSON.parse(credential.slice(0, maxResponseLength)));
  } catch {
    throw new Refusal('passkey');
  }
}

/** Rejects attestations with certificates, since the library would request URLs in them. */
function checkAttestation(attestation: string): void {
  const decoded = decodeAttestationObject(new Uint8Array(Buffer.from(attestation, 'base64url')));
  const format = decoded.get('fmt');
  const isSelfSigned = format === 'packed' && !decoded.get('attStmt').get('x5c');
  if (format !== 'none' && !isSelfSigned) throw new Error('attestation with certificates');
}
