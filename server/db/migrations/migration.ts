// What a migration is. They are append-only: one that has been released is never edited, a later one corrects it.
import type { Knex } from 'knex';

export interface StoreMigration {
  /** `NNNN-what-it-does`; the order of names is the order of running. */
  readonly name: string;
  readonly up: (knex: Knex) => Promise<void>;
}
