import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { makeContainerSecrets } from '../../apps/standalone/src/container.secrets.js';
import { availabilityProblems } from './availability.check.js';
import { connectionProblems } from './connection.check.js';
import { addressProblems, environmentProblems } from './environment.check.js';
import { memoryProblems } from './memory.check.js';
import { networkProblems } from './network.check.js';
import type { Manifest } from './overlay.js';
import { referenceProblems, type SecretKeys } from './reference.check.js';
import { schemaProblems } from './schema.check.js';
import { securityProblems } from './security.check.js';

/** What an operator adds to the secrets that the project makes, where Redis is another one. */
const ofOperator = {
  'gateway/REDIS_TLS_CA': 'certificate',
  'gpodder/REDIS_TLS_CA': 'certificate',
  'subscription/REDIS_TLS_CA': 'certificate',
  'episode/REDIS_TLS_CA': 'certificate',
  'deletion-worker/REDIS_TLS_CA': 'certificate',
  'deletion-worker/QUEUE_REDIS_PASSWORD': 'secret',
  'deletion-worker/QUEUE_REDIS_SENTINEL_PASSWORD': 'secret',
  'deletion-worker/QUEUE_REDIS_TLS_CA': 'certificate',
  'deletion-worker/EVENTS_REDIS_PASSWORD': 'secret',
  'account/REDIS_TLS_CA': 'certificate',
  'account/SIGN_IN_CLIENT_SECRET': 'secret',
  'account/SMTP_URL': 'smtps://podcast-sync:secret@mail.example.org:587',
  'deletion-worker/QUEUE_BOARD_PASSWORD': 'a password for the board',
};

/** The Secrets that a cluster is expected to have. */
export interface Secrets {
  /** The folder with the files of each part. */
  readonly folder: string;
  readonly keys: SecretKeys;
  remove(): void;
}

/** Makes the secrets as an operator would, in a folder of their own. */
export async function makeSecrets(): Promise<Secrets> {
  const folder = mkdtempSync(join(tmpdir(), 'k8s-secrets-'));
  await makeContainerSecrets(folder);
  for (const [file, value] of Object.entries(ofOperator)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), value);
  }
  const keys = readdirSync(folder).flatMap((part) =>
    readdirSync(join(folder, part)).map((key) => `podcast-sync-${part}/${key}`),
  );
  return { folder, keys: new Set(keys), remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** All that is wrong with objects that are applied together. */
export function problems(manifests: Manifest[], { folder, keys }: Secrets): string[] {
  return [
    ...schemaProblems(manifests),
    ...referenceProblems(manifests, keys),
    ...environmentProblems(manifests, folder),
    ...addressProblems(manifests),
    ...availabilityProblems(manifests),
    ...networkProblems(manifests, folder),
    ...connectionProblems(manifests),
    ...securityProblems(manifests),
    ...memoryProblems(manifests),
  ];
}
