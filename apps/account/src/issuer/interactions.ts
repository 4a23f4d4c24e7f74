import type { IncomingMessage, ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { OidcEntity } from '#database/typeorm';
import { errors } from 'oidc-provider';
import { Repository } from 'typeorm';
import { ConsentService, type ConsentingUser } from './consent.service.js';
import { Issuer } from './issuer.js';
import { hashSecret } from '../people/secret-hash.js';

/** Authorization request, as the consent page shows it. */
export interface AppRequest {
  /** Id of the interaction of a browser, or user code of a device. */
  readonly id: string;
  /** App that sends the request. It chooses `name`: at most 64 characters, all visible. */
  readonly client: { readonly id: string; readonly name: string };
  readonly scopes: readonly string[];
  /** Redirect target: a host, or a scheme such as `com.example.app:`. Absent for a device. */
  readonly redirectHost?: string | undefined;
  readonly startedAt: Date;
  /** IP address of the browser or device that started the request; empty if not stored. */
  readonly address: string;
  /** Earliest allowed time of the last sign-in (`prompt=login`, `max_age`); absent for any time. */
  readonly signInAfter?: Date | undefined;
}

/**
 * Reads and decides authorization requests of browsers, for the page `/interaction/:uid`. A cookie
 * identifies the request, so no other browser can decide about it.
 */
@Injectable()
export class Interactions {
  constructor(
    private readonly issuer: Issuer,
    private readonly consent: ConsentService,
    @InjectRepository(OidcEntity) private readonly rows: Repository<OidcEntity>,
  ) {}

  /**
   * Returns the pending authorization request of a browser; undefined if none is pending or its
   * client was deleted.
   */
  async findAuthorizationRequest(
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<AppRequest | undefined> {
    const interaction = await this.readInteraction(request, response);
    if (!interaction) return undefined;
    const { uid, params } = interaction;
    const [details, row] = await Promise.all([
      this.consent.describeRequest(params),
      this.rows.findOneBy({ model: 'Interaction', id: hashSecret(uid) }),
    ]);
    if (!details || !row) return undefined;
    const startedAt = row.createdAt;
    const signInAfter = readEarliestSignIn(params, startedAt);
    return { ...details, id: uid, startedAt, address: row.address ?? '', signInAfter };
  }

  /**
   * Allows the request.
   *
   * @returns the redirect URL; undefined if no request is pending or its client was deleted.
   * @throws Refusal `credentials` if the session has ended.
   */
  async allowRequest(
    request: IncomingMessage,
    response: ServerResponse,
    user: ConsentingUser,
  ): Promise<string | undefined> {
    const interaction = await this.readInteraction(request, response);
    const grant = interaction && (await this.consent.createGrant(interaction.params, user));
    if (!grant) return undefined;
    const authTimeSeconds = Math.floor(user.authenticatedAt.getTime() / 1_000);
    return this.finishInteraction(request, response, {
      login: { accountId: user.accountId, ts: authTimeSeconds, remember: false },
      consent: { grantId: grant.grantId },
    });
  }

  /** Denies the request. @returns the redirect URL; undefined if no request is pending. */
  denyRequest(request: IncomingMessage, response: ServerResponse): Promise<string | undefined> {
    return this.finishInteraction(request, response, {
      error: 'access_denied',
      error_description: 'the user denied the request',
    });
  }

  private readInteraction(request: IncomingMessage, response: ServerResponse) {
    return runUnlessEnded(() => this.issuer.provider.interactionDetails(request, response));
  }

  private finishInteraction(
    request: IncomingMessage,
    response: ServerResponse,
    result: Parameters<Issuer['provider']['interactionResult']>[2],
  ): Promise<string | undefined> {
    return runUnlessEnded(() => this.issuer.provider.interactionResult(request, response, result));
  }
}

/**
 * Returns the earliest time of the last sign-in that the client accepts (OpenID Connect Core,
 * 3.1.2.1); undefined if the client accepts any time.
 */
function readEarliestSignIn(params: Record<string, unknown>, startedAt: Date): Date | undefined {
  if (
    String(params['prompt'] ?? '')
      .split(' ')
      .includes('login')
  )
    return startedAt;
  const maxAge = params['max_age'];
  return maxAge === undefined ? undefined : new Date(startedAt.getTime() - Number(maxAge) * 1_000);
}

/** Returns the result of a call; undefined if the authorization request is unknown or has ended. */
async function runUnlessEnded<Result>(run: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof errors.SessionNotFound) return undefined;
    throw error;
  }
}
