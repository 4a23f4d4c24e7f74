import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { OidcEntity } from '#database/typeorm';
import { MoreThan, Repository } from 'typeorm';
import { queryRows } from '../people/query-rows.js';
import { ConsentService, type ConsentingUser, type RequestParams } from './consent.service.js';
import { Grants } from './grants.js';
import type { AppRequest } from './interactions.js';
import { IssuerLimits } from './issuer-limits.js';
import { hashSecret } from '../people/secret-hash.js';

/** A user's decision about a device's request, as oidc-provider stores it. */
interface Decision {
  readonly accountId?: string;
  /** Time of the user's last sign-in in seconds since 1970. */
  readonly authTime?: number;
  readonly grantId?: string;
  readonly error?: string;
  readonly errorDescription?: string;
}

/**
 * Reads and decides authorization requests of devices, for the page `/device`. The user enters the
 * code that the device shows (RFC 8628, 3.3), or opens a link that contains the code. The first
 * decision about a code is final.
 */
@Injectable()
export class DeviceAuthorizations {
  constructor(
    private readonly consent: ConsentService,
    private readonly grants: Grants,
    private readonly limits: IssuerLimits,
    @InjectRepository(OidcEntity) private readonly rows: Repository<OidcEntity>,
  ) {}

  /**
   * Returns the pending request of a user code; undefined if none is pending or its client was
   * deleted. A limit per network prevents guessing.
   *
   * @param userCode code as the user entered it.
   * @param address IP address of the user's browser.
   * @throws RateLimited if the network tried more than 20 codes in ten minutes.
   */
  async findAuthorizationRequest(
    userCode: string,
    address: string,
  ): Promise<AppRequest | undefined> {
    await this.limits.countRequest('user-code', address);
    const pending = await this.findPending(userCode);
    if (!pending) return undefined;
    const { params, row } = pending;
    const details = await this.consent.describeRequest(params);
    return (
      details && {
        ...details,
        id: normalizeUserCode(userCode),
        startedAt: row.createdAt,
        address: row.address ?? '',
      }
    );
  }

  /**
   * Allows the request of a code.
   *
   * @returns false if no request is pending or its client was deleted.
   * @throws Refusal `credentials` if the session has ended.
   */
  async allowRequest(userCode: string, user: ConsentingUser): Promise<boolean> {
    const pending = await this.findPending(userCode);
    const grant = pending && (await this.consent.createGrant(pending.params, user));
    if (!grant) return false;
    const { accountId, authenticatedAt } = user;
    const authTime = Math.floor(authenticatedAt.getTime() / 1_000);
    const isDecided = await this.storeDecision(userCode, { accountId, authTime, ...grant });
    if (!isDecided) await this.grants.endUnchecked(grant.grantId);
    return isDecided;
  }

  /** Denies the request of a code. @returns false if no request is pending. */
  denyRequest(userCode: string): Promise<boolean> {
    return this.storeDecision(userCode, {
      error: 'access_denied',
      errorDescription: 'the user denied the request',
    });
  }

  private async findPending(
    userCode: string,
  ): Promise<{ row: OidcEntity; params: RequestParams } | undefined> {
    const row = await this.rows.findOneBy({
      model: 'DeviceCode',
      userCode: hashSecret(normalizeUserCode(userCode)),
      expiresAt: MoreThan(new Date()),
    });
    if (!row || row.accountId !== null || 'error' in row.payload) return undefined;
    return { row, params: row.payload['params'] as RequestParams };
  }

  private async storeDecision(userCode: string, decision: Decision): Promise<boolean> {
    const decidedRows = await queryRows(
      this.rows.manager,
      `UPDATE account.oidc
       SET payload = payload || $2::jsonb, account_id = $3, grant_id = $4, network = NULL
       WHERE model = 'DeviceCode' AND user_code = $1 AND expires_at > now()
         AND account_id IS NULL AND NOT payload ? 'error'
       RETURNING id`,
      [
        hashSecret(normalizeUserCode(userCode)),
        JSON.stringify(decision),
        decision.accountId ?? null,
        decision.grantId ?? null,
      ],
    );
    return decidedRows.length > 0;
  }
}

/** Returns the letters of an entered code in upper case, without hyphens and spaces. */
function normalizeUserCode(userCode: string): string {
  return userCode
    .slice(0, 64)
    .toUpperCase()
    .replace(/[^A-Z]/g, '');
}
