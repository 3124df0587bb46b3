// Answers of creates, copies and batches, each under its Idempotency-Key, until they expire. `owner` is a digest of the key and of whom
// and what it belongs to; `fingerprint` is one of the body. Ids and the JSON of records stand in `answers` as they were answered.
import type { Knex } from 'knex';

export async function keptAnswers(knex: Knex): Promise<void> {
  await knex.raw(`
      CREATE TABLE kept_answers (
        owner text COLLATE "C" PRIMARY KEY,
        fingerprint text COLLATE "C" NOT NULL,
        answers text NOT NULL,
        kept_until timestamptz(3) NOT NULL
      )`);
  await knex.raw('CREATE INDEX kept_answers_until ON kept_answers (kept_until)');
}
