import { constants, createPublicKey, publicEncrypt } from 'node:crypto';
import { afterEach, expect, it, vi } from 'vitest';
import { AddressGuard, type Fetcher } from '#fetch';
import { createLog } from '#runtime';
import type { StreamClient } from '#transport';
import type { DueWork } from '../due-work.js';
import { ImportLoop } from './import-loop.js';
import type { ImportRepository, RunProgress } from './import.repository.js';

afterEach(() => void vi.useRealTimers());

it('ends an import after an hour as failed with `timeout`', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  let sealed = Buffer.alloc(0);
  const saved: RunProgress[] = [];
  const repository: Pick<ImportRepository, 'claimImport' | 'saveProgress'> = {
    claimImport: async (der) => {
      const key = createPublicKey({ key: der, type: 'spki', format: 'der' });
      const padding = constants.RSA_PKCS1_OAEP_PADDING;
      sealed = publicEncrypt({ key, oaepHash: 'sha256', padding }, Buffer.from('secret'));
      return { userId: 'ann', id: '1', source: 'https://a.example/', login: 'ann', cursor: null };
    },
    saveProgress: async (_, progress) => {
      saved.push(progress);
      return sealed;
    },
  };
  const requests: string[] = [];
  // A server that answers no request.
  const fetcher: Pick<Fetcher, 'fetch'> = {
    fetch: ({ url }, _read, stopped) => {
      requests.push(url);
      return new Promise((_, reject) => {
        stopped?.addEventListener('abort', () => reject(stopped.reason as Error));
      });
    },
  };
  const loop = new ImportLoop({
    repository: repository as ImportRepository,
    fetcher: fetcher as Fetcher,
    work: {} as DueWork,
    client: {} as StreamClient,
    guard: new AddressGuard([]),
    log: createLog('feed', 'silent'),
  });
  const run = loop.runDue();
  await vi.waitFor(() => expect(requests).toHaveLength(1), { timeout: 30_000 });
  vi.advanceTimersByTime(3_600_000);
  await run;
  expect(saved.at(-1)).toMatchObject({ state: 'failed', fault: 'timeout' });
});
