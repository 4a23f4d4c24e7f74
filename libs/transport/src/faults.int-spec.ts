import { describe, it, vi } from 'vitest';
import { killOneOfThree, poison, stopOneOfTwo } from '../testing/fault.cases.js';

// Most of the time is what the processes of a case take to start, on a machine that may have other work.
vi.setConfig({ testTimeout: 120_000 });

/** Real processes and a real Redis. */
describe('under load', () => {
  it('SIGKILL of a replica costs no answer, and only what was in flight runs again', () => killOneOfThree());

  it('SIGTERM of a replica fails no call and runs none twice', () => stopOneOfTwo());
});

describe('a poisonous request', () => {
  it('is the only one to fail, and is kept with its reason', () => poison());
});
