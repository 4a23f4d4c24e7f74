import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { isoCBOR } from '@simplewebauthn/server/helpers';
import type { PasskeySite } from '../src/people/passkey-site.rules.js';

const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest();
const flags = { present: 0x01, verified: 0x04, attested: 0x40 } as const;

/** Authenticator and browser with one passkey (ES256), for tests of rules without a browser. */
export class Authenticator {
  private readonly keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  readonly id = randomBytes(32).toString('base64url');
  /** Count of signatures in the next response. */
  counter = 0;
  /** False if the authenticator does not check its user. */
  verifiesUser = true;
  /** Format and statement of the attestation. */
  attestation: readonly [string, Map<string, unknown>] = ['none', new Map()];

  constructor(readonly site: PasskeySite) {}

  /** Returns the response to options of a creation, as JSON. */
  create({ challenge = '' }: { challenge?: string } = {}): string {
    const { x = '', y = '' } = this.keys.publicKey.export({ format: 'jwk' });
    const key = new Map<number, unknown>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, new Uint8Array(Buffer.from(x, 'base64url'))],
      [-3, new Uint8Array(Buffer.from(y, 'base64url'))],
    ]);
    const id = Buffer.from(this.id, 'base64url');
    const data = Buffer.concat([
      this.data(flags.attested),
      Buffer.alloc(16),
      Buffer.from([0, id.length]),
      id,
      isoCBOR.encode(key as never),
    ]);
    const [format, statement] = this.attestation;
    const attestation = new Map<string, unknown>([
      ['fmt', format],
      ['attStmt', statement],
      ['authData', new Uint8Array(data)],
    ]);
    return this.response(this.clientData('webauthn.create', challenge), {
      attestationObject: Buffer.from(isoCBOR.encode(attestation as never)),
    });
  }

  /** Returns the response to options of a sign-in, as JSON. */
  get({ challenge = '' }: { challenge?: string } = {}): string {
    const [clientData, authenticatorData] = [
      this.clientData('webauthn.get', challenge),
      this.data(0),
    ];
    const signed = Buffer.concat([authenticatorData, sha256(clientData)]);
    const signature = sign('sha256', signed, this.keys.privateKey);
    return this.response(clientData, { authenticatorData, signature });
  }

  private data(more: number): Buffer {
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(this.counter);
    const all = flags.present | (this.verifiesUser ? flags.verified : 0) | more;
    return Buffer.concat([sha256(this.site.id), Buffer.from([all]), counter]);
  }

  private clientData(type: string, challenge: string): Buffer {
    return Buffer.from(JSON.stringify({ type, challenge, origin: this.site.origin }));
  }

  private response(clientDataJSON: Buffer, parts: Record<string, Buffer>): string {
    const response = Object.fromEntries(
      Object.entries({ clientDataJSON, ...parts }).map(([name, bytes]) => [
        name,
        bytes.toString('base64url'),
      ]),
    );
    return JSON.stringify({ id: this.id, rawId: this.id, type: 'public-key', response });
  }
}
