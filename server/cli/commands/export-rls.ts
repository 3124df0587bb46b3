// `bailiwick export rls`: a policy as a script of PostgreSQL, on stdout.
import type { Command } from 'commander';
import { usage } from '../failure.js';
import { type CliIo, isClosed, write } from '../io.js';
import { collect, withExamples } from '../options.js';

interface ExportRlsOptions {
  readonly table?: readonly string[];
  readonly schema: string;
}

export function defineExportRls(command: Command, io: CliIo): void {
  command
    .argument('<policy>', 'policy folder or snapshot file')
    .option(
      '--table <table=family>',
      'table that the policy guards, and the family that its rows are of, such as `invoice=invoice`; its namespaces are in the column `path`, or the one after a colon: `invoice:place=invoice`; may be repeated',
      collect,
    )
    .option('--schema <name>', 'schema for the tables and functions of the policy', 'bailiwick')
    .action((policy: string, options: ExportRlsOptions) => exportRls(io, policy, options));
  withExamples(command, [
    [
      'a table of invoices in PostgreSQL',
      'bailiwick export rls shop.json --table invoice=invoice | psql --set ON_ERROR_STOP=1',
    ],
    [
      'the policy alone: your own policies of tables call `bailiwick.may`',
      'bailiwick export rls policies > policy.sql',
    ],
  ]);
}

async function exportRls(io: CliIo, path: string, { table = [], schema }: ExportRlsOptions): Promise<void> {
  const [{ openPolicy }, { rlsScript }, { policyRows }, { nearest, vocabularyOf }] = await Promise.all([
    import('../open-policy.js'),
    import('../../export/rls-script.js'),
    import('../../../engine/compiler.js'),
    import('../../../engine/index.js'),
  ]);
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
      throw usage(`the policy knows no family \`${family}\``, meantFamily(nearest(family, families), families));
    return { table: name, column, family };
  });
  const about = `Row-level security of the policy ${policy.name}, ${policy.digest}. Made by \`bailiwick export rls\`; run it again for another policy.`;
  for (const text of rlsScript(policyRows(policy), { schema, tables, about }))
    if (!isClosed(io.stdout)) await write(io.stdout, text);
}

function meantFamily(meant: string | null, families: readonly string[]): string {
  return meant === null ? `it knows ${families.join(', ')}` : `did you mean \`${meant}\`?`;
}
