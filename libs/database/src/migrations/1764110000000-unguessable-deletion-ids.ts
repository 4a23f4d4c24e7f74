import type { MigrationInterface, QueryRunner } from 'typeorm';

const newId = (random: string) => `
      CREATE OR REPLACE FUNCTION deletion.new_id() RETURNS bigint
      LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
        SELECT 1 + ${random}::bigint
      $$;`;

/**
 * Takes the 52 bits of a deletion id from a UUID, which Postgres makes of secure random numbers. A
 * few results of `random()` reveal the state of a connection: a user could compute how many ids
 * other users got in between.
 */
export class UnguessableDeletionIds1764110000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // Version and variant of a UUID are in its first 17 digits.
    const digits = `right(translate(gen_random_uuid()::text, '-', ''), 13)`;
    await runner.query(newId(`('x' || ${digits})::bit(52)`));
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(newId('floor(random() * 4503599627370496)'));
  }
}
