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
  /** The client chooses its name: at most 64 characters, all visible. */
  readonly client: { readonly id: string; readonly name: string };
  readonly scopes: readonly string[];
  /** Redirect target: a host, or a scheme such as `com.example.app:`. Absent for a device. */
  readonly redirectHost?: string | undefined;
  readonly startedAt: Date;
  /** Address of the browser or device that started the request. */
  readonly address: string;
  /** The user must have signed in at or after this time (`prompt=login`, `max_age`). */
  readonly signInAfter?: Date | undefined;
}

/**
 * Pending authorization requests of browsers, at `/interaction/:uid`. The pages sign the user in
 * and call {@link allowRequest} or {@link denyRequest}. A cookie identifies the request, so no
 * other browser can decide about it.
 */
@Injectable()
export class Interactions {
  constructor(
    private readonly issuer: Issuer,
    private readonly consent: ConsentService,
    @InjectRepository(OidcEntity) private readonly rows: Repository<OidcEntity>,
  ) {}

  /** Returns the pending authorization request of a browser; undefined without one. */
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
    const signInAfter = signInAfterOf(params, startedAt);
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
    by: ConsentingUser,
  ): Promise<string | undefined> {
    const interaction = await this.readInteraction(request, response);
    const granted = interaction && (await this.consent.createGrant(interaction.params, by));
    if (!granted) return undefined;
    const ts = Math.floor(by.authenticatedAt.getTime() / 1_000);
    return this.finishInteraction(request, response, {
      login: { accountId: by.accountId, ts, remember: false },
      consent: { grantId: granted.grantId },
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

/** Returns the earliest sign-in time that the client accepts (OpenID Connect Core, 3.1.2.1). */
function signInAfterOf(params: Record<string, unknown>, startedAt: Date): Date | undefined {
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
