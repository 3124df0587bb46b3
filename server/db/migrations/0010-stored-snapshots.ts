// Snapshots, each once under the digest of its bytes, in parts that are compressed by themselves; and of each activation what asked for
// it: `offered` by a source, `activated` or `rolled_back` by somebody. `statement` is the signed envelope as JSON.
import type { Knex } from 'knex';

export async function storedSnapshots(knex: Knex): Promise<void> {
  await knex.raw(`
      CREATE TABLE snapshots (
        snapshot text COLLATE "C" PRIMARY KEY,
        policy text COLLATE "C" NOT NULL,
        decisions text COLLATE "C" NOT NULL,
        bytes bigint NOT NULL,
        labels text NOT NULL,
        statement text,
        stored_at timestamptz(3) NOT NULL,
        used_at timestamptz(3) NOT NULL
      )`);
  await knex.raw(`
      CREATE TABLE snapshot_parts (
        snapshot text COLLATE "C" NOT NULL,
        part integer NOT NULL,
        bytes bytea NOT NULL,
        written_at timestamptz(3) NOT NULL,
        PRIMARY KEY (snapshot, part)
      )`);
  await knex.raw('ALTER TABLE snapshot_parts ALTER COLUMN bytes SET STORAGE EXTERNAL');
  await knex.raw(`
      ALTER TABLE activations
        ADD COLUMN kind text NOT NULL DEFAULT 'offered' CHECK (kind IN ('offered', 'activated', 'rolled_back')),
        ADD COLUMN asked_by text NOT NULL DEFAULT 'gateway',
        ADD COLUMN statement text`);
}
