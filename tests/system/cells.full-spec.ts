import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AppProcess, AppStack, Device, eventually, freshUser, TokenIssuer } from '#testing';
import { userId } from '#identity';
import { tracesOf } from '../../apps/deletion-worker/testing/erased-user.js';
import { Ingress } from './testing/ingress.js';
import { Listener } from './testing/listener.js';
import { copyUsers, erase } from './testing/operator-programs.js';
import { listed } from './testing/random-history.js';

// docs/guide/move-users.md.

/** A cell: a system with its own Postgres and Redis. */
interface Cell {
  readonly stack: AppStack;
  readonly gateway: AppProcess;
}

const listeners = 6;
/** Writes that are acknowledged before, between and after the steps of the procedure. */
const some = 40;

let folder: string;
let cells: [from: Cell, to: Cell];
const ingress = new Ingress();
let baseUrl: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'cells-'));
  const open = async () => {
    const stack = await AppStack.open();
    const [gateway] = await stack.start(['gateway', 'subscription', 'episode', 'deletion-worker']);
    return { stack, gateway: gateway as AppProcess };
  };
  [baseUrl, ...cells] = await Promise.all([ingress.open(), open(), open()]);
}, 120_000);

afterAll(async () => {
  ingress.close();
  await Promise.all((cells ?? []).map(({ stack }) => stack.close()));
  rmSync(folder, { recursive: true, force: true });
});

const idOf = (user: string) => userId(TokenIssuer.issuer, user, TokenIssuer.issuer);
const deviceIn = ({ stack, gateway }: Cell, user: string) => stack.device(gateway, user);

/** A user with the token of the first cell. */
async function newUser(): Promise<Device> {
  const device = await deviceIn(cells[0], freshUser());
  ingress.send(device.token, device);
  return new Device(baseUrl, device.token, device.user);
}

async function noneIsPending({ stack }: Cell, users: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: stack.postgres.url });
  await client.connect();
  const pending = "SELECT FROM deletion.deletions WHERE status = 'PENDING' AND user_id = ANY ($1)";
  const ids = users.map(idOf);
  await eventually(async () => assert.equal((await client.query(pending, [ids])).rowCount, 0), {
    timeout: 60_000,
  });
  await client.end();
}

/**
 * The tables of a cell that name users in any row. The schema `feed` has no users, but the URLs of
 * these feeds contain their names; it keeps a feed for a week after its last reader.
 */
async function leftOf({ stack }: Cell, users: readonly string[]): Promise<string[]> {
  const client = new pg.Client({ connectionString: stack.postgres.url });
  await client.connect();
  const found = await tracesOf(client, users.map(idOf));
  await client.end();
  // They hold URLs of feeds for all users; the URLs of this test contain the name of a user.
  const shared = ['feed.feeds', 'feed.touched'];
  return Object.keys(found).filter((table) => !shared.includes(table));
}

/** Writes a file with the issuers and subjects of users. */
function named(users: readonly Device[]): string {
  const file = join(folder, `users-${freshUser()}`);
  const lines = users.map(({ user }) =>
    JSON.stringify({ issuer: TokenIssuer.issuer, subject: user }),
  );
  writeFileSync(file, lines.join('\n'));
  return file;
}

describe('users who move to another cell while they listen', () => {
  it('lose nothing that was acknowledged, and their devices miss nothing', async () => {
    const [from, to] = cells;
    const all = await Promise.all(
      Array.from({ length: listeners }, async () => new Listener(await newUser())),
    );
    const goOn = async () => {
      const reached = all.map(({ acknowledged }) => acknowledged + some);
      await eventually(
        () =>
          all.forEach(({ acknowledged }, place) =>
            assert(acknowledged >= (reached[place] as number)),
          ),
        { timeout: 120_000 },
      );
    };
    for (const listener of all) listener.begin();
    await goOn();

    ingress.freeze();
    await eventually(() => assert.equal(ingress.writing, 0));
    await noneIsPending(
      from,
      all.map(({ device }) => device.user),
    );
    const users = named(all.map(({ device }) => device));
    await copyUsers(from.stack, to.stack, users);
    const { stderr } = await copyUsers(from.stack, to.stack, users);
    expect(stderr).toContain(`${listeners} users were already copied`);
    for (const { device } of all) ingress.send(device.token, await deviceIn(to, device.user));

    await goOn();
    await Promise.all(all.map((listener) => listener.end()));
    for (const listener of all) await listener.check();

    // The old cell erases the users, and rejects their further requests.
    await erase(from.stack, '--users', users);
    const [{ device }] = all as [Listener];
    expect(
      await deviceIn(from, device.user).then((old) => old.send('GET', '/subscriptions')),
    ).toMatchObject({
      status: 401,
    });
    expect(
      await leftOf(
        from,
        all.map(({ device: { user } }) => user),
      ),
    ).toEqual(['deletion.erasures', 'sync.user_clock']);
  }, 300_000);
});

describe('a write that came to the old cell after the copy', () => {
  it('is in the new cell once the user is copied again', async () => {
    const [from, to] = cells;
    const here = await deviceIn(from, freshUser());
    const there = await deviceIn(to, here.user);
    const subscribe = (feed: string) =>
      here.send('POST', '/subscriptions', {
        body: { subscriptions: [{ feed_url: `https://feeds.example/${feed}` }] },
      });
    const users = named([here]);
    await subscribe('one');
    await copyUsers(from.stack, to.stack, users);
    await subscribe('two');
    await expect(copyUsers(from.stack, to.stack, users)).rejects.toThrow('--replace');
    await copyUsers(from.stack, to.stack, users, '--replace');
    expect(await listed(there, 'subscriptions')).toEqual(await listed(here, 'subscriptions'));
  });
});
