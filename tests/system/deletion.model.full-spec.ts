import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DeletionStack } from './testing/deletion.stack.js';
import { checkWalks, seed } from './testing/sync.walk.js';

let stack: DeletionStack;
beforeAll(async () => {
  stack = await DeletionStack.open({ LOG_LEVEL: 'warn' });
});
afterAll(async () => {
  await stack.close();
});

describe('a system that is broken is found out:', () => {
  const broken = (body: string, trigger: string) => `
    CREATE FUNCTION public.broken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body} END $$;
    CREATE TRIGGER broken ${trigger} FOR EACH ROW EXECUTE FUNCTION public.broken()`;

  it.each([
    ['the cascade forgets the episodes', broken('RETURN NULL;', 'BEFORE DELETE ON episode.episodes')],
    [
      'POST does not win over a pending deletion',
      broken('NEW.added := OLD.added; RETURN NEW;', 'BEFORE UPDATE ON subscription.subscriptions'),
    ],
    ['answers are not remembered', broken('RETURN NULL;', 'BEFORE INSERT ON sync.request')],
    [
      'deletions end without effect',
      broken('NEW.deleted := NULL; RETURN NEW;', 'BEFORE UPDATE ON subscription.subscriptions'),
    ],
  ])(
    '%s',
    async (_, sql) => {
      await stack.owner.query(sql);
      try {
        const found = await checkWalks(stack, false, { numRuns: 100, seed, endOnFailure: true });
        console.log(`found in run ${found.numRuns}`);
        expect(String(found.errorInstance)).toMatch(/no order explains|sent again|sent twice/);
      } finally {
        await stack.owner.query('DROP FUNCTION public.broken() CASCADE');
      }
    },
    180_000,
  );
});
