import { Inject, Injectable } from '@nestjs/common';
import { scopes } from '#contracts';
import { type AccountConfig, CONFIG } from '../account.config.js';
import { consoleClientId } from '../issuer/clients.js';
import { apiResource } from '../issuer/issuer.configuration.js';
import { Issuer } from '../issuer/issuer.js';
import type { Session } from '../people/sessions.js';

/** A token for the console, in one browser. */
export interface ConsoleToken {
  readonly accessToken: string;
  /** Seconds for which it is good. */
  readonly expiresIn: number;
  /** The base URL of the API that it is for. */
  readonly api: string;
}

/**
 * Access tokens for the console (ADR 29): those of any app that may read and write, made by the issuer, but for a session in the
 * place of a grant. Its id is their `gid`, so that they end when the session does, whichever way.
 */
@Injectable()
export class ConsoleTokens {
  constructor(
    @Inject(CONFIG) private readonly config: AccountConfig,
    private readonly issuer: Issuer,
  ) {}

  /** Whether it is known where the API is. */
  get isConfigured(): boolean {
    return this.config.API_URLS !== undefined;
  }

  /** @throws Error where no API is configured. */
  async issue({ id, accountId }: Session): Promise<ConsoleToken> {
    const [api] = this.config.API_URLS ?? [];
    if (api === undefined) throw new Error('API_URLS is not set');
    const { provider } = this.issuer;
    const client = await provider.Client.find(consoleClientId);
    if (!client) throw new Error('the console is not registered');
    const info = apiResource(this.config, api);
    const token = new provider.AccessToken({
      accountId,
      client,
      grantId: id,
      gty: 'session',
      scope: scopes.join(' '),
      resourceServer: new provider.ResourceServer(api, info),
    } as unknown as ConstructorParameters<typeof provider.AccessToken>[0]);
    return { accessToken: await token.save(), expiresIn: info.accessTokenTTL, api };
  }
}
