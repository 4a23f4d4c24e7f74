import { afterAll, describe, expect, test } from 'vitest';
import { DraftServer, type Fault } from '../testing/draft-server.js';
import { type RunResult, runVectors } from './conformance-run.js';
import { htmlReport, isFailure, junitReport, terminalReport } from './report.js';
import { profiles, readVectors } from './vector.js';

const tokens = ['one', 'two'];
const ofDraft = profiles.filter((profile) => profile !== 'additions');
const servers: DraftServer[] = [];

afterAll(() => servers.forEach((server) => server.stop()));

async function check(
  named: readonly string[],
  faults: Fault[] = [],
  ids?: string[],
): Promise<RunResult & { live: number }> {
  const server = new DraftServer(tokens, ...faults);
  servers.push(server);
  const target = { base: await server.start(), tokens, deadline: Date.now() + 60_000 };
  const vectors = readVectors(named).filter(({ id }) => ids?.includes(id) ?? true);
  return { ...(await runVectors(target, vectors)), live: server.live() };
}

const failed = ({ results }: RunResult) =>
  results.filter((result) => isFailure(result)).map(({ vector }) => vector.id);

test.concurrent('a server of the published draft passes, and nothing is left behind', async () => {
  const outcome = await check(ofDraft);
  expect(terminalReport(outcome)).not.toMatch(/FAILED|WARNING/);
  expect(outcome.results.every((result) => result.outcome === 'passed')).toBe(true);
  expect([outcome.remaining, outcome.live]).toEqual([0, 0]);
});

// Concurrent, because the runs mostly wait for deletions.
describe.concurrent('broken servers', () => {
  test('a server that follows sentences which lose data fails with both sentences', async () => {
    const literal: Fault[] = ['since-client-time', 'pages-by-time', 'equal-ignored'];
    const outcome = await check(ofDraft, literal);
    expect(failed(outcome)).toEqual(
      expect.arrayContaining([
        'list-walk',
        'episodes-walk',
        'late-upload',
        'walk-equal-times-2',
        'two-changes-in-a-minute',
      ]),
    );
    const report = terminalReport(outcome);
    expect(report).toContain('PASS deletions');
    expect(report).toContain('FAIL sync-guarantees');
    expect(report).toContain('only fetch information that is relevant to them');
    expect(report).toContain('contradicts Open Podcast API: specs/episodes/get-all, "Parameters"');
  });

  test('a server that mixes users and forgets names fails in each profile', async () => {
    const outcome = await check(ofDraft, ['user-restriction', 'forgets', 'arrival-wins']);
    expect(failed(outcome)).toEqual(
      expect.arrayContaining([
        'get-of-another-user',
        'update-by-old-guid',
        'delete-is-gone',
        'delete-episodes',
        'older-loses',
        'older-played-status-loses',
      ]),
    );
    expect(terminalReport(outcome).match(/^FAIL /gm)).toHaveLength(ofDraft.length);
  });

  test('a server with wrong statuses, types and errors fails in each profile', async () => {
    const outcome = await check(ofDraft, ['sloppy']);
    expect(failed(outcome)).toEqual(
      expect.arrayContaining(['add-no-protocol', 'get-unknown', 'delete-is-accepted']),
    );
    expect(terminalReport(outcome).match(/^FAIL /gm)).toHaveLength(ofDraft.length);
  });

  test('a server without the additions fails in their profile alone', async () => {
    const outcome = await check(['additions'], [], ['sync-timestamp', 'duration', 'opml-export']);
    expect(failed(outcome)).toEqual(['sync-timestamp', 'duration', 'opml-export']);
    expect(terminalReport(outcome)).toContain('Podcast Sync: docs/reference/interface.md, "Lists"');
  });
});

test.concurrent('vectors of two users are skipped with one token', async () => {
  const server = new DraftServer(tokens);
  servers.push(server);
  const target = { base: await server.start(), tokens: ['one'], deadline: Date.now() + 60_000 };
  const { results } = await runVectors(target, readVectors(['deletions']));
  const skipped = results.filter(({ outcome }) => outcome === 'skipped');
  expect(skipped.map(({ vector }) => vector.id)).toContain('delete-of-another-user');
  expect(skipped.length).toBeLessThan(5);
});

test.concurrent('a run past its time limit fails, and still deletes its feeds', async () => {
  const server = new DraftServer(tokens);
  servers.push(server);
  const base = await server.start();
  let requests = 0;
  const vectors = readVectors(['subscriptions']);
  const target = {
    base,
    tokens,
    get deadline() {
      requests += 1;
      return requests > 100 ? 0 : Date.now() + 60_000;
    },
  };
  const outcome = await runVectors(target, vectors);
  expect(outcome.results.at(-1)?.detail).toContain('raise --timeout');
  expect([outcome.remaining, server.live()]).toEqual([0, 0]);
});

test.concurrent('reports are XML and HTML with the sentence of each failure', async () => {
  const outcome = await check(['deletions'], ['forgets']);
  const suite = /podcast-sync-conformance \d+\.\d+\.\d+/;
  const xml = junitReport(outcome);
  expect(xml).toMatch(suite);
  expect(xml).toContain(`<testsuite name="deletions" tests="${outcome.results.length}"`);
  expect(xml.match(/<failure /g)).toHaveLength(failed(outcome).length);
  expect(xml).toContain('410 (Gone)');
  const page = htmlReport(outcome, 'https://sync.example/v1?<a>');
  expect(page).toContain('https://sync.example/v1?&lt;a&gt;');
  expect(page).toMatch(suite);
  expect(page.match(/class="failed"/g)).toHaveLength(failed(outcome).length);
});
