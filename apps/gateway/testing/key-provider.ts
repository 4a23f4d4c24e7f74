import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, importJWK, type JWK, type JWTPayload, SignJWT } from 'jose';

/** A private key of a provider, with `alg` and `kid`. */
export type SigningKey = JWK & { alg: string; kid: string };

export async function newKey(kid: string, alg = 'EdDSA'): Promise<SigningKey> {
  const { privateKey } = await generateKeyPair(alg, { extractable: true });
  return { ...(await exportJWK(privateKey)), kid, alg, use: 'sig' };
}

/** Returns the public parts of keys as a key set. */
export function keySet(...keys: readonly JWK[]): { keys: JWK[] } {
  const secrets = new Set(['d', 'p', 'q', 'dp', 'dq', 'qi', 'k']);
  const publicPart = (key: JWK) =>
    Object.fromEntries(Object.entries(key).filter(([name]) => !secrets.has(name)));
  return { keys: keys.map((key) => publicPart(key) as JWK) };
}

/** Signs a token, valid for an hour by default; omits claims that are `undefined`. */
export async function sign(
  key: SigningKey,
  claims: JWTPayload,
  header: object = {},
): Promise<string> {
  const exp = Math.floor(Date.now() / 1_000) + 3_600;
  const payload = Object.entries({ sub: 'ann', aud: 'podcast-sync', exp, ...claims });
  return new SignJWT(Object.fromEntries(payload.filter(([, value]) => value !== undefined)))
    .setProtectedHeader({ alg: key.alg, kid: key.kid, ...header })
    .sign(await importJWK(key, key.alg));
}

/** A server that publishes a key set and its discovery document, and counts requests. */
export class KeyProvider {
  /** Number of requests for the key set. */
  requests = 0;
  /** The published keys. */
  keys: readonly JWK[] = [];
  /** The status of every answer. */
  status = 200;
  /** Issuer in the discovery document, if it is not the URL of this server. */
  impostor: string | undefined;

  readonly port: number;
  readonly url: string;

  private constructor(private readonly server: Server) {
    this.port = (server.address() as AddressInfo).port;
    this.url = `http://127.0.0.1:${this.port}`;
    server.on('request', (request, response) => {
      const isKeySet = request.url === '/jwks';
      if (isKeySet) this.requests++;
      const document = { issuer: this.impostor ?? this.url, jwks_uri: `${this.url}/jwks` };
      response.writeHead(this.status, { 'content-type': 'application/json', connection: 'close' });
      response.end(JSON.stringify(isKeySet ? keySet(...this.keys) : document));
    });
  }

  static async start(port = 0): Promise<KeyProvider> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    return new KeyProvider(server);
  }

  async stop(): Promise<void> {
    await new Promise<unknown>((resolve) => this.server.close(resolve));
  }
}
