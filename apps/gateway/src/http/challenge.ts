import { parseUrl, scopes } from '#contracts';
import { AuthenticationFailure, linkBase } from '#http';
import type { FastifyRequest } from 'fastify';
import type { GatewayConfig } from '../gateway.config.js';

/** Path of the metadata that names the issuers to clients without a token (RFC 9728, 3). */
export const resourceMetadataPath = '/.well-known/oauth-protected-resource';

/**
 * Returns the header `WWW-Authenticate` of a 401 (RFC 6750, 3, and RFC 9728, 5.1): the URL of the
 * metadata, and an error code if the client sent a credential.
 */
export function challengeHeader(
  request: FastifyRequest,
  config: GatewayConfig,
  error: unknown,
): { readonly 'www-authenticate': string } {
  // Encodes quotation marks and backslashes, because a client can send them in the Host header.
  const base = linkBase(request, config).replace(/["\\]/g, encodeURIComponent);
  const parameters = [`resource_metadata="${base}${resourceMetadataPath}"`];
  const { reason, missingScope } = error instanceof AuthenticationFailure ? error : {};
  if (reason === 'scope') parameters.push('error="insufficient_scope"', `scope="${missingScope}"`);
  else if (request.headers.authorization !== undefined) parameters.push('error="invalid_token"');
  return { 'www-authenticate': `Bearer ${parameters.join(', ')}` };
}

/** Returns the OAuth metadata of the API: issuers and scopes (RFC 9728, 2). */
export function resourceMetadata(
  request: FastifyRequest,
  config: GatewayConfig,
): Record<string, unknown> {
  const isHttpUrl = (issuer: string) =>
    /^https?:\/\//.test(issuer) && parseUrl(issuer) !== undefined;
  const authorizationServers = config.AUTH_SERVERS ?? config.AUTH_ISSUER.filter(isHttpUrl);
  return {
    resource: linkBase(request, config),
    ...(authorizationServers.length > 0 && { authorization_servers: authorizationServers }),
    scopes_supported: scopes,
    bearer_methods_supported: ['header'],
  };
}
