import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DeletionStack } from './testing/deletion.stack.js';
import { checkWalks, seed } from './testing/sync.walk.js';

/** Runs up to the given number of walks, several concurrently, until one finds a fault. */
const walkers = 8;
const rounds = { count: 12, numRuns: 5 };

let stack: DeletionStack;
beforeAll(async () => {
  stack = await DeletionStack.open({ LOG_LEVEL: 'warn' });
});
afterAll(async () => {
  await stack.close();
});

/** Returns the report of the first walk that finds a fault; undefined for none. */
async function firstFault(): Promise<string> {
  for (let round = 0; round < rounds.count; round += 1) {
    const checks = Array.from({ length: walkers }, (_, walker) =>
      checkWalks(stack, false, {
        numRuns: rounds.numRuns,
        seed: seed + round * walkers + walker,
        endOnFailure: true,
      }),
    );
    const found = (await Promise.all(checks)).find(({ failed }) => failed);
    if (!found) continue;
    console.log(`found in round ${round + 1}`);
    return String(found.errorInstance);
  }
  return 'nothing was found';
}

describe('the walks detect a broken system:', () => {
  const broken = (body: string, trigger: string) => `
    CREATE FUNCTION public.broken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body} END $$;
    CREATE TRIGGER broken ${trigger} FOR EACH ROW EXECUTE FUNCTION public.broken()`;

  it.each([
    [
      'the cascade forgets the episodes',
      broken('RETURN NULL;', 'BEFORE DELETE ON episode.episodes'),
    ],
    [
      'POST does not win over a pending deletion',
      broken(
        'NEW.deletion_id := coalesce(NEW.deletion_id, OLD.deletion_id); RETURN NEW;',
        'BEFORE UPDATE ON subscription.subscriptions',
      ),
    ],
    [
      'answers are not stored',
      // As if each marker were too old.
      broken(
        "NEW.created_at := now() - interval '2 hours'; RETURN NEW;",
        'BEFORE INSERT ON sync.request',
      ),
    ],
    [
      'deletions end without effect',
      broken('NEW.deleted := NULL; RETURN NEW;', 'BEFORE UPDATE ON subscription.subscriptions'),
    ],
  ])(
    '%s',
    async (_, sql) => {
      await stack.owner.query(sql);
      try {
        console.log(`seed ${seed}`);
        expect(await firstFault()).toMatch(/no order explains|sent again|sent twice/);
      } finally {
        await stack.owner.query('DROP FUNCTION public.broken() CASCADE');
      }
    },
    180_000,
  );
});
