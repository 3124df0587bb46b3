// `bailiwick migrate`: brings the store's schema up to this version, and gives namespaces partitions.
import { canonicalize, type NamespacePath, parentOf, pathFaultText, ROOT } from '../../../engine/index.js';
import type { Answer, CliIo } from '../io.js';
import { announceStore, sayWait } from '../open-store.js';
import { configOf, formats, STORE_SETTINGS } from '../options.js';
import { usage } from '../exit.js';
import { type SettingFlags, storeOf } from '../../config/index.js';
import { PARTITION_LIMITS } from '../../limits/store.js';
import { escapeText } from '../render/escape.js';
import { count } from '../render/text.js';
import { type Given, repeated, takes, verb } from '../verb.js';

const TAKES = takes({
  ...formats(),
  '--partitions <namespaces>': repeated(
    `top-level namespaces whose records get a table each; repeat, or join with commas (PostgreSQL only, ${String(PARTITION_LIMITS.namespaces)} at most). Copies all records and replaces the list before`,
  ),
});

export const defineMigrate = verb(TAKES, migrateStore, {
  settings: STORE_SETTINGS,
  examples: {
    'the embedded store': 'bailiwick migrate --data-dir /var/lib/bailiwick',
    'an external PostgreSQL': 'DATABASE_URL=postgres://bailiwick@db.example.org/bailiwick bailiwick migrate',
    'two namespaces with millions of records each': 'bailiwick migrate --partitions /europe,/asia',
  },
  json: [
    '{"applied":[string],"partitioned"?:boolean}',
    'applied: the migrations that were run; partitioned: with --partitions, whether the records were copied',
  ],
});

async function migrateStore(io: CliIo, options: Given<typeof TAKES> & SettingFlags): Promise<Answer> {
  const config = await configOf(io, options);
  const store = storeOf(config);
  const say = announceStore(io, config);
  const namespaces = options.partitions === undefined ? null : topLevel(options.partitions);
  if (namespaces !== null && store.kind === 'embedded')
    throw usage(
      '`--partitions` is for an external PostgreSQL, and the settings name the embedded store',
      'name a PostgreSQL with DATABASE_URL or `databaseUrlFile`, or leave the option out',
    );
  const [{ openDatabase }, { migrate }, { partition }] = await Promise.all([
    import('../../db/database.js'),
    import('../../db/migrate.js'),
    import('../../db/partitions.js'),
  ]);
  // Migrations have no time limit.
  const database = await openDatabase({ ...store, ...config.database, statementTimeout: 0, onWait: sayWait(io) });
  try {
    await say();
    const applied = await migrate(database);
    const partitioned = namespaces === null ? null : await partition(database, namespaces);
    const said = [
      ...(applied.length === 0 ? [] : [`${applied.join('\n')}\n${count(applied.length, 'migration')} applied\n`]),
      ...(partitioned === true ? [partitionedText(namespaces ?? [])] : []),
    ];
    return {
      json: () => ({ applied, partitioned: partitioned ?? undefined }),
      text: () => (said.length === 0 ? 'the store is up to date\n' : said.join('')),
    };
  } finally {
    await database.close();
  }
}

function partitionedText(namespaces: readonly NamespacePath[]): string {
  return `${count(namespaces.length, 'namespace')} with a partition: ${namespaces.join(', ')}
Next: restart the gateways of this store, so that their queries read only the partitions they need.
`;
}

/** Throws `CliFailure` 2 with what is wrong in the list. */
function topLevel(lists: readonly string[]): readonly NamespacePath[] {
  const parts = lists.flatMap((list) => list.split(','));
  const namespaces = parts.map((part) => {
    const path = canonicalize(part.trim());
    if (!path.ok)
      throw usage(`\`${escapeText(part)}\` in \`--partitions\` is no namespace: ${pathFaultText(path.fault)}`, LIST);
    if (path.path === ROOT || parentOf(path.path) !== ROOT)
      throw usage(`\`${path.path}\` in \`--partitions\` is not a top-level namespace`, LIST);
    return path.path;
  });
  const twice = namespaces.find((path, index) => namespaces.indexOf(path) !== index);
  if (twice !== undefined) throw usage(`\`${twice}\` is in \`--partitions\` twice`, 'name it once');
  if (namespaces.length > PARTITION_LIMITS.namespaces)
    throw usage(
      `\`--partitions\` names ${String(namespaces.length)} namespaces; ${String(PARTITION_LIMITS.namespaces)} are allowed`,
      'name those with the most records: each query looks into every partition that it may need',
    );
  return [...namespaces].sort();
}

const LIST = 'give top-level namespaces, separated by commas, such as `/europe,/asia`';
