import { createReadStream, statSync } from 'node:fs';
import { type IdentityConfig, type NamedUser, usersIn } from '#identity';
import type pg from 'pg';
import type { UserPartition } from './dump-options.js';
import { countUsers, selectUsers } from './dump.repository.js';

/** Users to dump. `share` returns the part of them that was read, from 0 to 1. */
export interface DumpedUsers {
  readonly users: AsyncIterable<NamedUser>;
  share(): number;
}

const pageUsers = 1_000;
const beforeAll = '00000000-0000-0000-0000-000000000000';

/**
 * Returns the users with a clock in one hash partition of `dump --shard`, sorted by id, without
 * users that are erased or being erased. Users that first write during the iteration can be
 * missing.
 */
export async function readUsersOfPart(
  client: pg.Client,
  { index, of }: UserPartition,
): Promise<DumpedUsers> {
  const { rows } = await client.query<{ users: string }>({ ...countUsers, values: [index, of] });
  const total = Number(rows[0]?.users);
  let readCount = 0;
  async function* readUsers(): AsyncGenerator<NamedUser> {
    for (let after = beforeAll, isLast = false; !isLast;) {
      const page = await client.query<{ id: string }>({
        ...selectUsers,
        values: [after, pageUsers, index, of],
      });
      for (const { id } of page.rows) {
        readCount += 1;
        yield { id, name: { id } };
      }
      after = page.rows.at(-1)?.id ?? after;
      isLast = page.rows.length < pageUsers;
    }
  }
  return { users: readUsers(), share: () => (total === 0 ? 1 : Math.min(readCount / total, 1)) };
}

/**
 * Returns the users that a file names, one per line.
 *
 * @throws UnknownUserLine with its number, during iteration.
 */
export function namedUsers(path: string, config: IdentityConfig): DumpedUsers {
  const { size } = statSync(path);
  const input = createReadStream(path);
  return {
    users: usersIn(input, path, config),
    share: () => (size === 0 ? 1 : input.bytesRead / size),
  };
}
