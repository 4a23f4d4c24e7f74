import type { EntityManager } from 'typeorm';

/** The rows of a statement. Of an UPDATE or DELETE, TypeORM gives a pair of them and their number. */
export async function rowsOf<Row>(
  manager: Pick<EntityManager, 'query'>,
  statement: string,
  values: unknown[] = [],
): Promise<Row[]> {
  const answer = (await manager.query(statement, values)) as Row[] | [Row[], number];
  return Array.isArray(answer[0]) ? answer[0] : (answer as Row[]);
}
