const sizes = `
  SELECT n.nspname || '.' || c.relname AS name, i.indexrelid IS NULL AS "isTable",
    coalesce((SELECT sum(pg_relation_size(relid)) FROM pg_partition_tree(c.oid)),
    pg_relation_size(c.oid))::float8 AS bytes
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  LEFT JOIN pg_index i ON i.indexrelid = c.oid
  WHERE coalesce(i.indrelid, c.oid) = ANY ($1::regclass[])
  ORDER BY i.indrelid IS NOT NULL, c.relname`;

/** Returns report lines: bytes per row of a table with its related tables, and by index. */
export async function bytesPer(owner, what, [main, ...others]) {
  const { rows: counted } = await owner.query(`SELECT count(*)::int AS rows FROM ${main}`);
  const { rows } = await owner.query(sizes, [[main, ...others]]);
  const each = ({ bytes }) => bytes / counted[0].rows;
  const total = rows.reduce((sum, row) => sum + each(row), 0);
  return [
    [`**${what}, all in all**`, total.toFixed(0)],
    ...rows.map((row) => [`${row.isTable ? 'table' : 'index'} ${row.name}`, each(row).toFixed(1)]),
  ];
}
