import type { EntityManager } from 'typeorm';

/** Returns the rows of a statement. TypeORM returns `[rows, count]` for UPDATE and DELETE. */
export async function queryRows<Row>(
  manager: Pick<EntityManager, 'query'>,
  statement: string,
  values: unknown[] = [],
): Promise<Row[]> {
  const result = (await manager.query(statement, values)) as Row[] | [Row[], number];
  return Array.isArray(result[0]) ? result[0] : (result as Row[]);
}
