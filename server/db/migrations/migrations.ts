// Every migration there is, in order.
import { records } from './0001-records.js';
import { keysAndSecrets } from './0002-keys-and-secrets.js';
import { queryIndexes } from './0003-query-indexes.js';
import { ancestorIndexes } from './0004-ancestor-indexes.js';
import { ownSchema } from './0005-own-schema.js';
import type { StoreMigration } from './migration.js';

export const MIGRATIONS: readonly StoreMigration[] = Object.freeze([
  records,
  keysAndSecrets,
  queryIndexes,
  ancestorIndexes,
  ownSchema,
]);
