import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { scopes as apiScopes } from '#contracts';
import { DataSource } from 'typeorm';
import { lockSession } from '../people/sessions.js';
import { Clients } from './clients.js';
import { Grants } from './grants.js';
import { Issuer } from './issuer.js';

/** User who allows an app's request, with the session and the time of the last sign-in. */
export interface ConsentingUser {
  readonly accountId: string;
  /** Id of the session of the user's browser. */
  readonly sessionId: string;
  readonly authenticatedAt: Date;
}

/** Parameters of an authorization request that oidc-provider has validated. */
export type RequestParams = Readonly<Record<string, unknown>>;

/**
 * A stored grant. `scope` has the granted scopes, separated by spaces. `resource` has the URLs of
 * the APIs for which the grant is valid (RFC 8707).
 */
export interface SavedGrant {
  readonly grantId: string;
  readonly scope: string;
  readonly resource: string | string[];
}

const issuerScopes: ReadonlySet<string> = new Set(['openid', 'offline_access']);
const apiScopeSet: ReadonlySet<string> = new Set(apiScopes);

/** Reads authorization requests for the consent page, and creates grants for allowed requests. */
@Injectable()
export class ConsentService {
  constructor(
    private readonly issuer: Issuer,
    private readonly clients: Clients,
    private readonly grants: Grants,
    @InjectDataSource() private readonly source: DataSource,
  ) {}

  /**
   * Returns what the consent page shows of an authorization request: the client, the requested API
   * scopes, and the host of the redirect URI. Returns undefined for a deleted client.
   */
  async describeRequest(params: RequestParams) {
    const client = await this.issuer.provider.Client.find(String(params['client_id']));
    if (!client) return undefined;
    const redirectUri = params['redirect_uri'];
    return {
      client: { id: client.clientId, name: client.clientName ?? client.clientId },
      scopes: readRequestedScopes(params).filter((scope) => apiScopeSet.has(scope)),
      redirectHost: typeof redirectUri === 'string' ? redirectHostOf(redirectUri) : undefined,
    };
  }

  /**
   * Creates a grant of exactly the requested scopes.
   *
   * @returns the grant; undefined for a deleted client.
   * @throws Refusal `credentials` if the session has ended.
   */
  async createGrant(
    params: RequestParams,
    { accountId, sessionId }: ConsentingUser,
  ): Promise<SavedGrant | undefined> {
    const clientId = String(params['client_id']);
    if (!(await this.clients.markUsed(clientId))) return undefined;
    const grant = new this.issuer.provider.Grant({ accountId, clientId });
    const scopes = readRequestedScopes(params);
    const resource = params['resource'] as string | string[];
    grant.addOIDCScope(scopes.filter((scope) => issuerScopes.has(scope)).join(' '));
    const requestedApiScopes = scopes.filter((scope) => apiScopeSet.has(scope)).join(' ');
    for (const apiUrl of [resource].flat()) grant.addResourceScope(apiUrl, requestedApiScopes);
    const grantId = await grant.save();
    try {
      // Fails if a sign-out ended the session before the grant was committed. A later sign-out ends
      // the grant.
      await lockSession(this.source.manager, sessionId);
    } catch (error) {
      await this.grants.endUnchecked(grantId);
      throw error;
    }
    return { grantId, scope: scopes.join(' '), resource };
  }
}

function readRequestedScopes({ scope }: RequestParams): string[] {
  return typeof scope === 'string' ? scope.split(' ').filter(Boolean) : [];
}

/** Returns the host of a redirect URI, or its private scheme, such as `com.example.app:`. */
export function redirectHostOf(uri: string): string {
  const { protocol, host } = new URL(uri);
  return protocol === 'https:' || protocol === 'http:' ? host : protocol;
}
