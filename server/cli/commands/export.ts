// `bailiwick export`: the records of the store as a dataset on stdout, in an order that `load` accepts. Its subcommands
// write a policy in the forms of others: `rego` and `cedar` into a folder, `rls` as a script of PostgreSQL on stdout.
import { join } from 'node:path';
import type { PolicyRows } from '../../../engine/compiler.js';
import { groupDigits, nearest, type Policy, vocabularyOf } from '../../../engine/index.js';
import type { SettingFlags } from '../../config/index.js';
import { cedarPolicies } from '../../export/cedar-policies.js';
import type { Exported } from '../../export/exported.js';
import { regoBundle } from '../../export/rego-bundle.js';
import { rlsScript } from '../../export/rls-script.js';
import { exportDataset } from '../../load/export-dataset.js';
import { CliFailure, EXIT, meantOr, usage } from '../exit.js';
import { writeInto } from '../files.js';
import { type CliIo, isClosed, pathsOf, untilReaderGone, write, writeToReader } from '../io.js';
import { openPolicy } from '../open-policy.js';
import { openNamedStore, storeFailure } from '../open-store.js';
import { configOf, STORE_SETTINGS } from '../options.js';
import { escapeText } from '../render/escape.js';
import { startProgress } from '../render/terminal.js';
import { type Given, repeated, required, takes, verb } from '../verb.js';

async function exportStore(io: CliIo, options: SettingFlags): Promise<void> {
  const db = await openNamedStore(io, await configOf(io, options), { isBulk: true, asItIs: true });
  const progress = startProgress(io);
  try {
    const report = await untilReaderGone(
      exportDataset(
        db,
        (text) => writeToReader(io.stdout, text),
        (records) => {
          progress.update(`${groupDigits(records)} records`);
        },
      ),
    );
    const tooLong = report?.tooLong ?? [];
    const [first] = tooLong;
    if (first === undefined) return;
    const more = tooLong.length === 1 ? '' : ` and ${groupDigits(tooLong.length - 1)} more`;
    const message = `the record ${first}${more} takes more than 1 MiB as a line`;
    const help = 'all lines are written, but `load` refuses these: shorten the records first';
    throw new CliFailure(EXIT.precondition, 'export.too_long', message, { help });
  } catch (error) {
    throw await storeFailure(error, 'run it again');
  } finally {
    progress.done();
    await db.close();
  }
}

const FOLDER = takes({
  '<policy>': 'policy folder, snapshot file, or `<revision>:<path>` in git',
  '-o, --output <folder>': required('folder for the files; those of an earlier export are replaced'),
});

const rego = verb(FOLDER, (io, given) => exportPolicy(io, given, regoBundle), {
  description: 'write a policy as a bundle for Open Policy Agent: data, and rules that make the same decisions',
  examples: {
    'a decision by Open Policy Agent':
      'bailiwick export rego policies -o bundle && opa eval --bundle bundle --input request.json data.bailiwick.allow',
  },
});

const cedar = verb(FOLDER, (io, given) => exportPolicy(io, given, cedarOf), {
  description: 'write a policy for Cedar: policies, entities and a schema',
  examples: {
    'the policies are valid under the schema':
      'bailiwick export cedar policies -o cedar && cedar validate --policies cedar/policies.cedar --schema cedar/schema.cedarschema',
  },
});

function cedarOf(rows: PolicyRows, { name, digest }: Policy): Exported {
  return cedarPolicies(rows, { about: `The policy ${name}, ${digest}.` });
}

async function exportPolicy(
  io: CliIo,
  { policy: path, output }: Given<typeof FOLDER>,
  make: (rows: PolicyRows, policy: Policy) => Exported,
): Promise<void> {
  const { policyRows } = await import('../../../engine/compiler.js');
  const { policy } = await openPolicy(io, path);
  const { files, unsaid } = make(policyRows(policy), policy);
  const inputs = pathsOf(io, [path]);
  for (const [name, pieces] of files) {
    const bytes = Buffer.concat(Array.from(pieces, (text) => Buffer.from(text)));
    await writeInto(io, { folder: output, path: name, inputs }, bytes);
    await write(io.stdout, `wrote ${escapeText(join(output, name))}\n`);
  }
  await write(io.stdout, `not covered:\n${unsaid.map((line) => `  ${escapeText(line)}\n`).join('')}`);
}

const RLS = takes({
  '<policy>': 'policy folder, snapshot file, or `<revision>:<path>` in git',
  '--table <table=family>': repeated(
    'table that the policy guards, and the family of its rows, such as `invoice=invoice`; its namespaces are in the column `path`, or the one after a colon: `invoice:place=invoice`; may be repeated',
  ),
  '--schema <name>': { about: 'schema for the tables and functions of the policy', usual: 'bailiwick' },
});

const rls = verb(RLS, exportRls, {
  description: 'write a policy as row-level security for PostgreSQL, so that the database itself enforces it',
  examples: {
    'a table of invoices in PostgreSQL':
      'bailiwick export rls shop.json --table invoice=invoice | psql --set ON_ERROR_STOP=1',
    'the policy alone, for row-level security of your own that calls `bailiwick.may`':
      'bailiwick export rls policies > policy.sql',
  },
});

async function exportRls(io: CliIo, { policy: path, table = [], schema }: Given<typeof RLS>): Promise<void> {
  const { policyRows } = await import('../../../engine/compiler.js');
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(schema))
    throw usage(
      `\`${schema}\` is not the name of a schema`,
      'it has letters, digits and `_`, and begins with no digit',
    );
  const { policy } = await openPolicy(io, path);
  const families = vocabularyOf(policy).familyNames;
  const tables = table.map((text) => {
    const [, name, column = 'path', family] = /^([^=:]+)(?::([^=:]+))?=([^=:]+)$/.exec(text) ?? [];
    if (name === undefined || family === undefined)
      throw usage(
        `\`${text}\` is not a table and a family`,
        'write them like `invoice=invoice` or `sales.invoice:place=invoice`',
      );
    if (name.split('.').includes('') || column.includes('.'))
      throw usage(
        `\`${name}\` does not name a table, or \`${column}\` a column`,
        'write them like `sales.invoice:place=invoice`',
      );
    if (!families.includes(family))
      throw usage(
        `the policy knows no family \`${family}\``,
        meantOr(nearest(family, families), `it knows ${families.join(', ')}`),
      );
    return { table: name, column, family };
  });
  const twice = tables.find(({ table }, i) => tables.slice(0, i).some((other) => other.table === table));
  if (twice !== undefined) throw usage(`the table \`${twice.table}\` is named twice`, 'its rows are of one family');
  const about = `Row-level security of the policy ${policy.name}, ${policy.digest}. Made by \`bailiwick export rls\`; run it again for another policy.`;
  for (const text of rlsScript(policyRows(policy), { schema, tables, about }))
    if (!isClosed(io.stdout)) await write(io.stdout, text);
}

export const defineExport = verb({}, exportStore, {
  settings: STORE_SETTINGS,
  verbs: { rls, rego, cedar },
  examples: {
    'a copy of the embedded store': 'bailiwick export | gzip > records.jsonl.gz',
    'from the embedded store to a PostgreSQL':
      'bailiwick export | DATABASE_URL=postgres://db.example.org/bailiwick bailiwick load -',
  },
});
