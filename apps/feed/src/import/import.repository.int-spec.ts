import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { freshUser } from '#testing';
import { type FeedContext, openFeeds } from '../../testing/feed-context.js';
import { type ClaimedImport, ImportRepository, type RunProgress } from './import.repository.js';

let context: FeedContext;
let imports: ImportRepository;
beforeAll(async () => {
  context = await openFeeds();
  imports = new ImportRepository(context.database);
});
afterEach(() => context.owner.query('DELETE FROM feed.imports'));
afterAll(() => context?.close());

const source = 'https://other.example/';
const key = Buffer.from('key');
const cursor = { since: 7, actions: 2, hash: 'x' };
const report = { subscriptions: 1, actions: 2, favorites: 0, skipped: 0, skipped_entries: [] };
const running: RunProgress = { cursor, report, state: 'running' };

/** Starts and claims an import of a user. */
async function started(userId: string, from = source): Promise<ClaimedImport> {
  await imports.requestImport(userId, from, 'ann');
  return (await imports.claimImport(key)) as ClaimedImport;
}

describe('an import', () => {
  it('is shown to its user with its numbers', async () => {
    const ann = freshUser();
    const claimed = await started(ann);
    expect(claimed).toMatchObject({ userId: ann, source, login: 'ann', cursor: null });
    expect((await imports.readImport(ann))?.shown).toMatchObject({ state: 'running', actions: 0 });
    await imports.saveProgress(claimed, { ...running, state: 'failed', fault: 'credentials' });
    expect(await imports.readImport(ann)).toEqual({
      shown: { source, login: 'ann', state: 'failed', fault: 'credentials', ...report },
      id: claimed.id,
      publicKey: key,
    });
    expect(await imports.readImport(freshUser())).toBeUndefined();
  });

  it('gets the encrypted password, which is removed at its end', async () => {
    const ann = freshUser();
    const claimed = await started(ann);
    expect(await imports.saveProgress(claimed, running)).toBeNull();
    await imports.storePassword(ann, claimed.id, Buffer.from('sealed'));
    expect(await imports.saveProgress(claimed, running)).toEqual(Buffer.from('sealed'));
    await imports.saveProgress(claimed, { ...running, state: 'finished' });
    const { rows } = await context.owner.query('SELECT sealed FROM feed.imports');
    expect(rows).toEqual([{ sealed: null }]);
  });

  it.each([
    ['replaced', (ann: string) => imports.requestImport(ann, source, 'ann')],
    ['stopped', (ann: string) => imports.stopImport(ann)],
  ])('that was %s cannot be saved', async (_, change) => {
    const ann = freshUser();
    const claimed = await started(ann);
    await change(ann);
    const before = await imports.readImport(ann);
    expect(await imports.saveProgress(claimed, { ...running, state: 'finished' })).toBeUndefined();
    await imports.storePassword(ann, claimed.id, Buffer.from('sealed'));
    expect(await imports.readImport(ann)).toEqual(before);
  });

  it('continues an unfinished one of the same account only', async () => {
    const ann = freshUser();
    const saved = async (from: string, state: RunProgress['state']) => {
      const claimed = await started(ann, from);
      await imports.saveProgress(claimed, { ...running, state });
      return claimed.cursor;
    };
    expect(await saved(source, 'failed')).toBeNull();
    expect(await saved(source, 'finished')).toBe(JSON.stringify(cursor));
    expect(await saved(source, 'failed')).toBeNull();
    expect(await saved('https://third.example/', 'failed')).toBeNull();
  });

  it('without a sign of life counts as interrupted', async () => {
    const ann = freshUser();
    await started(ann);
    await context.owner.query(`UPDATE feed.imports SET seen_at = now() - interval '1 min'`);
    const { shown } = (await imports.readImport(ann)) as { shown: object };
    expect(shown).toMatchObject({ state: 'failed', fault: 'interrupted' });
  });

  it('is claimed by one replica, and within seconds', async () => {
    await Promise.all(
      [freshUser(), freshUser()].map((user) => imports.requestImport(user, source, 'x')),
    );
    const claims = await Promise.all([1, 2, 3].map(() => imports.claimImport(key)));
    const users = claims.flatMap((claimed) => claimed?.userId ?? []);
    expect(new Set(users).size).toBe(2);
    await imports.requestImport(freshUser(), source, 'x');
    await context.owner.query(`UPDATE feed.imports SET seen_at = now() - interval '1 min'`);
    expect(await imports.claimImport(key)).toBeUndefined();
  });

  it('is refused while 16 others wait', async () => {
    const users = Array.from({ length: 16 }, freshUser);
    await Promise.all(users.map((user) => imports.requestImport(user, source, 'ann')));
    expect(await imports.requestImport(freshUser(), source, 'ann')).toBeUndefined();
    expect(await imports.requestImport(users[0] as string, source, 'ann')).toBeDefined();
  });

  it('is deleted after a day', async () => {
    const [old, recent] = [freshUser(), freshUser()];
    await imports.requestImport(old, source, 'ann');
    await context.owner.query(`UPDATE feed.imports SET seen_at = now() - interval '25 hours'`);
    await imports.requestImport(recent, source, 'ann');
    await context.repository.sweep(10);
    expect(await imports.readImport(old)).toBeUndefined();
    expect(await imports.readImport(recent)).toBeDefined();
  });
});
