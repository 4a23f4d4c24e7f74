import type { EntityManager } from 'typeorm';

/** Returns the rows of a SQL statement. TypeORM wraps those of UPDATE and DELETE with a count. */
export async function queryRows<Row>(
  manager: Pick<EntityManager, 'query'>,
  statement: string,
  values: unknown[] = [],
): Promise<Row[]> {
  const result = (await manager.query(statement, values)) as Row[] | [Row[], number];
  return Array.isArray(result[0]) ? result[0] : (result as Row[]);
}
