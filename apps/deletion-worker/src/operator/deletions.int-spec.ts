import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { callProgram, eventually, startProgram } from '#testing';
import { podcastSync } from '../../../cli/src/podcast-sync.js';
import { StoredUser } from '../../testing/stored-user.js';
import { openWorker, type WorkerContext } from '../../testing/worker.fixture.js';

let context: WorkerContext;
let user: StoredUser;
let guid: string;
let deletionId: number;

beforeAll(async () => {
  context = await openWorker();
});
afterAll(() => context.close());
beforeEach(async () => {
  ({ user, guid } = await StoredUser.subscriber(context.owner));
  deletionId = await context.request(user.id, guid);
});

/** Runs `podcast-sync deletions` in the process of the test. */
const deletions = (args: string[], url = context.urls.deletion) =>
  callProgram(podcastSync, ['deletions', ...args], { DATABASE_URL: url });

describe('deletions list', () => {
  it('shows pending records as an aligned table, oldest first', async () => {
    // Only this test starts the built program.
    const environment = { DATABASE_URL: context.urls.deletion };
    const { code, stdout } = await startProgram(
      'podcast-sync',
      ['deletions', 'list', '--pending'],
      environment,
    );
    expect(code).toBe(0);
    const [heading, ...lines] = stdout.trimEnd().split('\n');
    const row = lines.at(-1) ?? '';
    expect(row.split(/\s{2,}/)[0]).toBe(String(deletionId));
    expect(row.indexOf(user.id)).toBe(heading?.indexOf('USER'));
    const ids = lines.map((line) => Number.parseInt(line, 10));
    expect(ids).toEqual([...ids].sort((a, b) => a - b));
  });

  it('shows no more than the limit', async () => {
    await user.subscribe(randomUUID());
    const { stdout } = await deletions(['list', '--limit', '1']);
    expect(stdout.trimEnd().split('\n')).toHaveLength(2);
  });

  it('shows failed records with their causes, latest first, also as JSON', async () => {
    await deletions(['fail', String(deletionId), '--as', 'ann']);
    const { stdout } = await deletions(['list', '--failed', '--json']);
    const [latest] = JSON.parse(stdout) as [unknown];
    expect(latest).toMatchObject({
      id: deletionId,
      status: 'FAILURE',
      userId: user.id,
      attempts: 0,
      cause: 'ended by the operator ann',
    });
  });
});

describe('deletions retry', () => {
  it('adds a new job although the last one is open', async () => {
    const jobNumber = () => user.record(deletionId).then((record) => record.job_number);
    await eventually(async () => expect(await jobNumber()).toBe(1));
    const { code, stdout } = await deletions(['retry', String(deletionId)]);
    expect([code, stdout]).toEqual([
      0,
      `Deletion ${deletionId} is due: a deletion worker runs it again now.\n`,
    ]);
    context.relay.pollNow();
    await eventually(async () => expect(await jobNumber()).toBe(2));
    expect(await (await context.queue.getJob(`deletion-${deletionId}-1`))?.getState()).toBe(
      'waiting',
    );
    expect(await (await context.queue.getJob(`deletion-${deletionId}-2`))?.getState()).toBe(
      'waiting',
    );
  });

  it('has the same effect when repeated', async () => {
    await eventually(async () =>
      expect(await user.record(deletionId)).toMatchObject({ job_number: 1 }),
    );
    const outcomes = await Promise.all([1, 2].map(() => deletions(['retry', String(deletionId)])));
    expect(outcomes.map(({ code }) => code)).toEqual([0, 0]);
    context.relay.pollNow();
    await eventually(async () =>
      expect(await user.record(deletionId)).toMatchObject({ job_number: 2 }),
    );
  });
});

describe('deletions fail', () => {
  it('ends a record in FAILURE without changes and names the operator', async () => {
    const { subscriptions, ...others } = await user.everything();
    // Only the reference to the deletion is removed.
    const before = {
      ...others,
      subscriptions: subscriptions.map((row) => ({ ...row, deletion_id: null })),
    };
    const { code, stdout } = await deletions(['fail', String(deletionId)]);
    expect([code, stdout]).toEqual([
      0,
      `Deletion ${deletionId} ended in FAILURE: the subscription was not deleted.\n`,
    ]);
    expect(await user.record(deletionId)).toMatchObject({
      status: 'FAILURE',
      cause: expect.stringMatching(/^ended by the operator ./) as string,
    });
    expect(await user.everything()).toEqual(before);
    await context.service.process({ userId: user.id, deletionId });
    expect(await user.everything()).toEqual(before);
  });
});

describe('a command that fails', () => {
  it.each(['retry', 'fail'])('exits with 1: %s of a final record', async (verb) => {
    await context.service.process({ userId: user.id, deletionId });
    const record = await user.record(deletionId);
    const { code, stdout, stderr } = await deletions([verb, String(deletionId)]);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(`deletion ${deletionId} ended in SUCCESS at `);
    expect(await user.record(deletionId)).toEqual(record);
  });

  it.each(['retry', 'fail'])('exits with 1: %s without a record', async (verb) => {
    const { code, stderr } = await deletions([verb, '999999999']);
    expect([code, stderr]).toEqual([1, 'deletions: there is no deletion 999999999\n']);
  });

  it('exits with 2 and names the help for invalid arguments', async () => {
    const { code, stdout, stderr } = await deletions(['remove', '1']);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toBe(
      "deletions: unknown command 'remove'\nSee: podcast-sync deletions --help\n",
    );
  });

  it('exits with 78 and names an invalid variable', async () => {
    const { code, stderr } = await deletions(['list'], 'mysql://x');
    expect(code).toBe(78);
    expect(stderr).toContain('DATABASE_URL: must be a URL like');
  });

  it('exits with 1 without Postgres and shows no password', async () => {
    const { code, stderr } = await deletions(['list'], 'postgres://u:secret@127.0.0.1:1/d');
    expect(code).toBe(1);
    expect(stderr).toMatch(/Postgres failed \(.*ECONNREFUSED/);
    expect(stderr).not.toContain('secret');
  });
});
