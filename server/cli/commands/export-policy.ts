// `bailiwick export rego` and `export cedar`: a policy as the files of another engine, in a folder.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import type { PolicyRows } from '../../../engine/compiler.js';
import type { Policy } from '../../../engine/index.js';
import type { Exported } from '../../export/exported.js';
import { fileFailure, writeWhole } from '../files.js';
import { type CliIo, pathOf, write } from '../io.js';
import { requiredOption, withExamples } from '../options.js';

interface ExportPolicyOptions {
  readonly output: string;
}

interface Exporter {
  readonly description: string;
  readonly example: readonly [what: string, command: string];
  readonly load: () => Promise<(rows: PolicyRows, policy: Policy) => Exported>;
}

export const EXPORTERS: Readonly<Record<'rego' | 'cedar', Exporter>> = {
  rego: {
    description: 'write a policy as a bundle of Open Policy Agent: data, and rules that decide alike',
    example: [
      'a decision by Open Policy Agent',
      'bailiwick export rego policies -o bundle && opa eval --bundle bundle --input request.json data.bailiwick.allow',
    ],
    load: async () => (await import('../../export/rego-bundle.js')).regoBundle,
  },
  cedar: {
    description: 'write a policy in the language of Cedar: policies, entities and a schema',
    example: [
      'the policies are valid under the schema',
      'bailiwick export cedar policies -o cedar && cedar validate --policies cedar/policies.cedar --schema cedar/schema.cedarschema',
    ],
    load: async () => {
      const { cedarPolicies } = await import('../../export/cedar-policies.js');
      return (rows, { name, digest }) => cedarPolicies(rows, { about: `The policy ${name}, ${digest}.` });
    },
  },
};

export function defineExportPolicy(command: Command, { example, load }: Exporter, io: CliIo): void {
  command
    .argument('<policy>', 'policy folder or snapshot file')
    .addOption(requiredOption('-o, --output <folder>', 'folder for the files; those of an earlier export are replaced'))
    .action((policy: string, options: ExportPolicyOptions) => exportPolicy(io, { policy, load }, options));
  withExamples(command, [example]);
}

async function exportPolicy(
  io: CliIo,
  { policy: path, load }: Pick<Exporter, 'load'> & { readonly policy: string },
  { output }: ExportPolicyOptions,
): Promise<void> {
  const [{ openPolicy }, { policyRows }, exporter] = await Promise.all([
    import('../open-policy.js'),
    import('../../../engine/compiler.js'),
    load(),
  ]);
  const { policy } = await openPolicy(io, path);
  const { files, unsaid } = exporter(policyRows(policy), policy);
  const folder = pathOf(io, output);
  try {
    await mkdir(folder, { recursive: true });
  } catch (error) {
    throw fileFailure(error, output);
  }
  for (const [name, pieces] of files) {
    const shown = join(output, name);
    const bytes = Buffer.concat(Array.from(pieces, (text) => Buffer.from(text)));
    await writeWhole(join(folder, name), bytes, { shown, protectedFiles: [] });
    await write(io.stdout, `wrote ${shown}\n`);
  }
  await write(io.stdout, `not covered:\n${unsaid.map((line) => `  ${line}\n`).join('')}`);
}
