import { Fixture, type FixtureDatabase } from '#testing';

/** A database of a service for one test file. */
export interface DatabaseContext extends FixtureDatabase {
  close(): Promise<void>;
}

/** Creates a database with {@link Fixture}, for a test that needs nothing else. */
export async function openDatabase(
  ...of: Parameters<Fixture['database']>
): Promise<DatabaseContext> {
  const fixture = new Fixture();
  const base = await fixture.database(...of);
  return { ...base, close: () => fixture.close() };
}
