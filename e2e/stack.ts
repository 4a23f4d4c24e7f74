import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { importJWK, type JWK, SignJWT } from 'jose';
import { inject } from 'vitest';

const stack = inject('stack');

/** The private JWK that signs the tokens of the system's account app. */
const signingKey = JSON.parse(readFileSync(join(stack.keys, 'signing-key.json'), 'utf8')) as JWK;

/** Base URL of the system, without a final slash. */
export const baseUrl = stack.baseUrl;

/** Claims of a token that differ from the defaults. */
interface Claims {
  sub?: string;
  scope?: unknown;
  /** Seconds since 1970. */
  exp?: number;
}

/** Signs a token, by default a valid one of a new user. */
export async function token(claims: Claims = {}): Promise<string> {
  const exp = Math.floor(Date.now() / 1_000) + 3_600;
  const usual = { sub: randomUUID(), iss: stack.issuer, aud: 'podcast-sync', exp };
  return new SignJWT({ ...usual, ...claims })
    .setProtectedHeader({ alg: 'EdDSA', kid: signingKey.kid })
    .sign(await importJWK(signingKey, 'EdDSA'));
}
