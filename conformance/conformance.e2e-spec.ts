import { expect, test } from 'vitest';
import { baseUrl, token } from '../e2e/stack.js';
import { runVectors } from './src/conformance-run.js';
import { terminalReport } from './src/report.js';
import { profiles, readVectors } from './src/vector.js';

test.concurrent.each(profiles)('Podcast Sync passes the profile %s', async (profile) => {
  const tokens = [await token(), await token()];
  const target = { base: `${baseUrl}/v1`, tokens, deadline: Date.now() + 100_000 };
  const outcome = await runVectors(target, readVectors([profile]));
  expect(terminalReport(outcome)).not.toMatch(/FAILED|WARNING|not deleted|[1-9]\d* skipped/);
});
