// API keys (the secret only as a hash) and the installation's own secrets, made once and shared by all processes.
import type { Knex } from 'knex';

export async function keysAndSecrets(knex: Knex): Promise<void> {
  await knex.raw(`
      CREATE TABLE api_keys (
        id text COLLATE "C" PRIMARY KEY,
        actor text COLLATE "C" NOT NULL,
        secret_hash bytea NOT NULL,
        identities jsonb NOT NULL CHECK (jsonb_typeof(identities) = 'array'),
        scopes jsonb CHECK (jsonb_typeof(scopes) = 'array'),
        restrictions jsonb CHECK (jsonb_typeof(restrictions) = 'array'),
        admin boolean NOT NULL,
        created_at timestamptz(3) NOT NULL,
        expires_at timestamptz(3),
        revoked_at timestamptz(3),
        last_used_at timestamptz(3)
      )`);
  await knex.raw('CREATE INDEX api_keys_actor ON api_keys (actor)');
  await knex.raw(`
      CREATE TABLE secrets (
        name text COLLATE "C" PRIMARY KEY,
        value bytea NOT NULL,
        created_at timestamptz(3) NOT NULL
      )`);
}
