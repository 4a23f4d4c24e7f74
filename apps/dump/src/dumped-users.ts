import { createReadStream, statSync } from 'node:fs';
import { type IdentityConfig, type NamedUser, usersIn } from '#identity';
import type pg from 'pg';
import type { UserPartition } from './dump-options.js';
import { countUsers, selectUsers } from './dump.repository.js';

/** Users to dump. `share` returns the fraction that was read, from 0 to 1. */
export interface DumpedUsers {
  readonly users: AsyncIterable<NamedUser>;
  share(): number;
}

const usersPerPage = 1_000;
const lowestUserId = '00000000-0000-0000-0000-000000000000';

/**
 * Returns the users of one hash partition (`dump --shard`), sorted by id. Leaves out users without
 * a clock, and users that are erased or being erased. A user whose first write happens during the
 * iteration can be left out.
 */
export async function readUsersOfPart(
  client: pg.Client,
  { index, of: partitionCount }: UserPartition,
): Promise<DumpedUsers> {
  const { rows } = await client.query<{ users: string }>({
    ...countUsers,
    values: [index, partitionCount],
  });
  const totalUsers = Number(rows[0]?.users);
  let usersRead = 0;
  async function* readUsers(): AsyncGenerator<NamedUser> {
    for (let lastId = lowestUserId, isLastPage = false; !isLastPage;) {
      const page = await client.query<{ id: string }>({
        ...selectUsers,
        values: [lastId, usersPerPage, index, partitionCount],
      });
      for (const { id } of page.rows) {
        usersRead += 1;
        yield { id, name: { id } };
      }
      lastId = page.rows.at(-1)?.id ?? lastId;
      isLastPage = page.rows.length < usersPerPage;
    }
  }
  return {
    users: readUsers(),
    share: () => (totalUsers === 0 ? 1 : Math.min(usersRead / totalUsers, 1)),
  };
}

/**
 * Returns the users that a file names, one per line.
 *
 * @throws UnknownUserLine with the number of an invalid line, during the iteration.
 */
export function namedUsers(path: string, config: IdentityConfig): DumpedUsers {
  const { size } = statSync(path);
  const input = createReadStream(path);
  return {
    users: usersIn(input, path, config),
    share: () => (size === 0 ? 1 : input.bytesRead / size),
  };
}
