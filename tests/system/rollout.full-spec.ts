import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type App, AppStack, eventually, migrate } from '#testing';
import { asOwner, countedOn, ended, endWell, healed, trafficAt } from './testing/readiness.js';

/** A deletion that a fault interrupts is sent again after half a minute. */
const limitMs = 240_000;
const services: readonly Exclude<App, 'gateway'>[] = ['subscription', 'episode', 'deletion-worker'];
/** The migration that is missing temporarily. All operations of a service need it. */
const missing = 'CreateEpisode1764195000003';
/** The first one of those that are missing when the code starts. */
const first = 'CreateDeletion1764195000004';
const twoOfEach = [...services, ...services];

let stack: AppStack;
const open = async () =>
  void (stack = await AppStack.open({ durablePostgres: true, ownQueue: true }));

describe('a rollout', { timeout: limitMs }, () => {
  beforeAll(open);
  afterAll(() => stack.close());

  it('of code before its migrations answers 503 until they are applied', async () => {
    await asOwner(stack, async (owner) => {
      while ((await owner.query(`SELECT FROM sync.migrations WHERE name = '${first}'`)).length > 0)
        await owner.undoLastMigration();
    });
    const gateways = await stack.start(['gateway', 'gateway']);
    const starting = stack.start(twoOfEach);
    const traffic = await trafficAt(stack, gateways);
    await ended(traffic, 200);
    expect(traffic.failed).toHaveLength(traffic.exchanges.length);
    expect(await countedOn(stack)).toEqual([0, 0, 0]);

    await migrate(stack.postgres.url);
    const replicas = await starting;
    expect(await countedOn(stack)).toEqual([2, 2, 2]);
    await endWell(stack, traffic, [...gateways, ...replicas]);
    for (const { output } of replicas) expect(output).toContain(`migration not applied: ${first}`);
  });

  it('with a briefly missing migration, replicas become unready and recover', async () => {
    const gateways = await stack.start(['gateway', 'gateway']);
    await healed(stack, gateways[0]!);
    const traffic = await trafficAt(stack, gateways);
    await traffic.continueFor();
    // Hides the table and the migration. Reverting it would lose acknowledged writes.
    await asOwner(stack, (owner) =>
      eventually(() =>
        owner.query(
          `ALTER TABLE episode.states RENAME TO later;
           DELETE FROM sync.migrations
           WHERE name = '${missing}'`,
        ),
      ),
    );
    await eventually(async () => expect((await countedOn(stack))[1]).toBe(0));
    await ended(traffic, 100);
    await asOwner(stack, (owner) =>
      owner.query(`
        ALTER TABLE episode.later RENAME TO states;
        INSERT INTO sync.migrations (timestamp, name)
        VALUES (${missing.slice(-13)}, '${missing}')`),
    );
    await endWell(stack, traffic, gateways);
    await eventually(async () => expect(await countedOn(stack)).toEqual([2, 2, 2]));
  });

  it('with missing tables and rights: answers are 503, and deletions wait', async () => {
    const [gateway] = await stack.start(['gateway']);
    await healed(stack, gateway!);
    const traffic = await trafficAt(stack, [gateway!]);
    await traffic.continueFor();
    const wait = (change: string, back: string) =>
      asOwner(stack, async (owner) => {
        await eventually(() => owner.query(change));
        await ended(traffic, 100);
        await eventually(() => owner.query(back));
        await traffic.continueFor();
      });
    await wait(
      'ALTER TABLE episode.episodes RENAME TO later',
      'ALTER TABLE episode.later RENAME TO episodes',
    );
    await wait(
      'REVOKE USAGE ON SCHEMA episode FROM podcast_sync_deletion_group, podcast_sync_episode_group',
      'GRANT USAGE ON SCHEMA episode TO podcast_sync_deletion_group, podcast_sync_episode_group',
    );
    await endWell(stack, traffic, [gateway!]);
  });
});
