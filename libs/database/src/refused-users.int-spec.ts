import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { freshUser } from '#testing';
import { type DatabaseContext, openDatabase } from '../testing/database-context.js';
import { listing, listPage } from './listing.js';

let fixture: DatabaseContext;
let userId: string;
beforeAll(async () => {
  fixture = await openDatabase('episode');
});
afterAll(() => fixture.close());
beforeEach(() => {
  userId = freshUser();
});

const refuse = (why: 1 | null) =>
  fixture.owner.query('SELECT sync.refuse_user($1, $2)', [userId, why]);
const write = (requestId = randomUUID()) =>
  fixture.database.write(
    { userId, requestId, changes: [], smallAnswer: true, remainingMs: () => 10_000 },
    async ({ stamp }) => stamp,
  );
const list = listing('test.refused', { row: 's', columns: 's.id', matching: 'episode.states s' });
const page = (knownClock?: string) =>
  listPage(
    fixture.database,
    list,
    {
      userId,
      perPage: 10,
      cursor: { from: 'page', page: 1 },
      ...(knownClock !== undefined && { knownClock }),
    },
    (row) => row,
  );
const clock = async () => {
  const { rows } = await fixture.owner.query(
    'SELECT stamp, refused FROM sync.user_clock WHERE user_id = $1',
    [userId],
  );
  return rows[0] as { stamp: Date; refused: number | null } | undefined;
};
const unauthorized = { code: 'unauthorized' };

describe('a refused user', () => {
  it('cannot write, not even a repeated request', async () => {
    const requestId = randomUUID();
    const stamp = await write(requestId);
    await refuse(1);
    await expect(write(requestId)).rejects.toMatchObject(unauthorized);
    await expect(write()).rejects.toMatchObject(unauthorized);
    expect(await clock()).toEqual({ stamp: new Date(stamp), refused: 1 });
  });

  it('cannot write for the first time', async () => {
    await refuse(1);
    await expect(write()).rejects.toMatchObject(unauthorized);
  });

  it('can read nothing, nor learn that nothing has changed', async () => {
    const stamp = await write();
    expect(await page(stamp)).toEqual({ unchanged: true, clock: stamp });
    await refuse(1);
    await expect(page()).rejects.toMatchObject(unauthorized);
    await expect(page(stamp)).rejects.toMatchObject(unauthorized);
  });

  it('costs no additional statement', async () => {
    await write();
    const count = async (run: () => Promise<unknown>) => {
      const before = fixture.statements();
      await run().catch(() => undefined);
      return fixture.statements() - before;
    };
    const read = await count(page);
    await refuse(1);
    expect(await count(page)).toBe(read);
  });

  it('can read and write again after being admitted', async () => {
    const before = await write();
    await refuse(1);
    await refuse(null);
    expect(await write()).not.toBe(before);
    expect(await page()).toMatchObject({ unchanged: false });
  });

  it('cannot be admitted again if the refusal is for an erasure', async () => {
    await write();
    for (const erasing of [2, 3]) {
      await fixture.owner.query('UPDATE sync.user_clock SET refused = $2 WHERE user_id = $1', [
        userId,
        erasing,
      ]);
      await refuse(null);
      await refuse(1);
      expect(await clock()).toMatchObject({ refused: erasing });
    }
  });
});

describe('the refusal of a user', () => {
  it('is written only by functions; for an erasure not by sync.refuse_user', async () => {
    await write();
    const outright = fixture.database.pool.query(
      'UPDATE sync.user_clock SET refused = NULL WHERE user_id = $1',
      [userId],
    );
    await expect(outright).rejects.toMatchObject({ code: '42501' });
    await expect(
      fixture.owner.query('SELECT sync.refuse_user($1, 3::smallint)', [userId]),
    ).rejects.toThrow('only an erasure sets 3');
  });

  it('waits for the end of a running write', async () => {
    let refused: Promise<unknown> | undefined;
    let isRefused = false;
    await fixture.database.write(
      {
        userId,
        requestId: randomUUID(),
        changes: [],
        smallAnswer: true,
        remainingMs: () => 10_000,
      },
      async ({ query }) => {
        refused = refuse(1).then(() => (isRefused = true));
        // The refusal waits for the clock of this write, whose statements continue.
        await query({ name: 'test.one', text: 'SELECT pg_sleep(0)' }, []);
        expect(isRefused).toBe(false);
      },
    );
    await refused;
    await expect(write()).rejects.toMatchObject(unauthorized);
  });
});
