// What makes a page of any subtree a short index range: for each of its first ancestors a record stands under that one's key, in
// each order (server/query/README.md). The key begins with the family, and archived records have keys of their own, so that a
// subtree's range holds nothing but what a query of it may give. Level 0 is the root and takes the place of the indexes over a family.
//
// Ids stand in them as bytes, in the same order: the planner then has no other index that gives it (server/query/key-order.ts).
// The expressions are those of server/query/ancestor-keys.ts. A name is left out by process runs alone.
import type { Knex } from 'knex';

export async function ancestorIndexes(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE records ADD CONSTRAINT records_name_check CHECK (name IS NOT NULL OR family = 4)');
  for (const [name, columns] of ORDERS) {
    await knex.raw('DROP INDEX ??', [`records_${name}`]);
    await knex.raw('DROP INDEX ??', [`records_path_${name}`]);
    await knex.raw(`CREATE INDEX records_path_${name} ON records (family, path, ${columns}) INCLUDE (id, archived_at)`);
  }
  for (let level = 0; level <= 5; level += 1) {
    const where = level === 0 ? '' : ` WHERE split_part(path, '/', ${String(level + 1)}) <> ''`;
    for (const [name, columns] of ORDERS) {
      await knex.raw(
        `CREATE INDEX records_level${String(level)}_${name} ON records ((${ancestorKey(level)}), ${columns})${where}`,
      );
    }
  }
}

const ORDERS = [
  ['id', 'uuid_send(id)'],
  ['created', 'created_at DESC, uuid_send(id)'],
  ['name', 'name, uuid_send(id)'],
] as const;

function ancestorKey(level: number): string {
  const segments = Array.from(
    { length: level },
    (_, index) => ` || split_part(path, '/', ${String(index + 2)}) || '/'`,
  );
  return `(family::text || CASE WHEN archived_at IS NULL THEN '/' ELSE '!/' END${segments.join('')}) COLLATE "C"`;
}
