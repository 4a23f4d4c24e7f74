import { Inject, Injectable } from '@nestjs/common';
import { scopes } from '#contracts';
import { type AccountConfig, CONFIG } from '../account.config.js';
import { consoleClientId } from '../issuer/clients.js';
import { apiResource } from '../issuer/provider-options.js';
import { Issuer } from '../issuer/issuer.js';
import type { Session } from '../people/sessions.js';

/** Access token for the console in one browser. */
export interface ConsoleToken {
  readonly access_token: string;
  /** Lifetime of the access token in seconds. */
  readonly expires_in: number;
  /** URL of the API, the first of `API_URLS`. */
  readonly api: string;
}

/**
 * Issues access tokens with all API scopes for the console (ADR 29). The claim `gid` is the id of
 * the session instead of a grant. So a token ends with its session.
 */
@Injectable()
export class ConsoleTokens {
  constructor(
    @Inject(CONFIG) private readonly config: AccountConfig,
    private readonly issuer: Issuer,
  ) {}

  /** Issues an access token for the console in the browser of a session. */
  async issueToken({ id, accountId }: Session): Promise<ConsoleToken> {
    const [api] = this.config.API_URLS;
    const { provider } = this.issuer;
    const client = await provider.Client.find(consoleClientId);
    if (!client) throw new Error('the console is not registered');
    const resourceServerInfo = apiResource(this.config, api);
    const token = new provider.AccessToken({
      accountId,
      client,
      grantId: id,
      gty: 'session',
      scope: scopes.join(' '),
      resourceServer: new provider.ResourceServer(api, resourceServerInfo),
    } as unknown as ConstructorParameters<typeof provider.AccessToken>[0]);
    return { access_token: await token.save(), expires_in: resourceServerInfo.accessTokenTTL, api };
  }
}
