import type { IncomingMessage, ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { OidcEntity } from '#database';
import { errors } from 'oidc-provider';
import { Repository } from 'typeorm';
import { type Approver, Approvals } from './approvals.js';
import { Issuer } from './issuer.js';
import { hashOf } from '../people/secret.hash.js';

/** An app that asks to be let in, as the page of consent shows it. */
export interface AppRequest {
  /** In a browser: of the interaction. From a device: the code that the device shows. */
  readonly id: string;
  /** The name is what the app calls itself: at most 64 characters, none of them invisible. */
  readonly client: { readonly id: string; readonly name: string };
  readonly scopes: readonly string[];
  /** Where the answer goes: a host, or an app's own scheme such as `com.example.app:`. Absent for a device. */
  readonly redirectHost?: string | undefined;
  readonly startedAt: Date;
  /** Of whom the request began with: the browser, or the device. */
  readonly address: string;
  /** The person has to have signed in at or after this, as the app asked for. */
  readonly signInAfter?: Date | undefined;
}

/**
 * Requests of apps that wait for a person in a browser, at `/interaction/:uid`. The pages sign the person in with a
 * session of ours, show what is asked for, and say here what was decided. The cookie of the browser that began it names
 * the request; nobody else can decide about it.
 */
@Injectable()
export class Interactions {
  constructor(
    private readonly issuer: Issuer,
    private readonly approvals: Approvals,
    @InjectRepository(OidcEntity) private readonly rows: Repository<OidcEntity>,
  ) {}

  /** What waits in this browser; undefined where nothing does, or no longer. */
  async find(request: IncomingMessage, response: ServerResponse): Promise<AppRequest | undefined> {
    const interaction = await this.interaction(request, response);
    if (!interaction) return undefined;
    const { uid, params } = interaction;
    const [shown, row] = await Promise.all([
      this.approvals.describe(params),
      this.rows.findOneBy({ model: 'Interaction', id: hashOf(uid) }),
    ]);
    if (!shown || !row) return undefined;
    const startedAt = row.createdAt;
    const signInAfter = signInAfterOf(params, startedAt);
    return { ...shown, id: uid, startedAt, address: row.address ?? '', signInAfter };
  }

  /** @returns the URL to forward the browser to; undefined where nothing waits any more. */
  async allow(request: IncomingMessage, response: ServerResponse, by: Approver): Promise<string | undefined> {
    const interaction = await this.interaction(request, response);
    const granted = interaction && (await this.approvals.grant(interaction.params, by));
    if (!granted) return undefined;
    const ts = Math.floor(by.authenticatedAt.getTime() / 1_000);
    return this.finish(request, response, {
      login: { accountId: by.accountId, ts, remember: false },
      consent: { grantId: granted.grantId },
    });
  }

  /** @returns like {@link allow}. */
  deny(request: IncomingMessage, response: ServerResponse): Promise<string | undefined> {
    return this.finish(request, response, { error: 'access_denied', error_description: 'the person said no' });
  }

  private interaction(request: IncomingMessage, response: ServerResponse) {
    return unlessGone(() => this.issuer.provider.interactionDetails(request, response));
  }

  private finish(
    request: IncomingMessage,
    response: ServerResponse,
    result: Parameters<Issuer['provider']['interactionResult']>[2],
  ): Promise<string | undefined> {
    return unlessGone(() => this.issuer.provider.interactionResult(request, response, result));
  }
}

/** The time after which an app wants the person to have signed in (OpenID Connect Core, 3.1.2.1). */
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

/** What oidc-provider answers; undefined where the request that waited has expired or was answered. */
async function unlessGone<Result>(run: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof errors.SessionNotFound) return undefined;
    throw error;
  }
}
