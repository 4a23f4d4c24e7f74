import type { EntityManager } from 'typeorm';

/** Returns the rows of a statement. For UPDATE and DELETE, TypeORM returns `[rows, count]`. */
export async function rowsOf<Row>(
  manager: Pick<EntityManager, 'query'>,
  statement: string,
  values: unknown[] = [],
): Promise<Row[]> {
  const answer = (await manager.query(statement, values)) as Row[] | [Row[], number];
  return Array.isArray(answer[0]) ? answer[0] : (answer as Row[]);
}
