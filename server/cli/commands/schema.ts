// `bailiwick schema [kind]`: the JSON Schemas for editors.
import type { Command } from 'commander';
import { usage } from '../failure.js';
import { type CliIo, write, writeJson } from '../io.js';
import { type Format, formatOption, withExamples, withJson } from '../options.js';
import type { SchemaKind } from '../schemas.js';

const KINDS: readonly SchemaKind[] = ['policy', 'sections', 'config', 'dataset', 'query'];

export function defineSchema(command: Command, io: CliIo): void {
  command
    .argument('[kind]', `one of ${KINDS.join(', ')}`, 'sections')
    .addOption(formatOption())
    .action((kind: string, { format }: { readonly format: Format }) => schema(io, kind, format));
  withExamples(command, [
    ['for an editor, as `bailiwick init` does', 'bailiwick schema policy > .schema/policy.json'],
    ['of the settings', 'bailiwick schema config'],
  ]);
  withJson(command, ['the schema itself, on one line']);
}

async function schema(io: CliIo, asked: string, format: Format): Promise<void> {
  const kind = KINDS.find((known) => known === asked);
  if (kind === undefined) {
    const { nearest } = await import('../../../engine/compiler.js');
    const near = nearest(asked, KINDS);
    const help = near === null ? `write one of ${KINDS.join(', ')}` : `did you mean \`${near}\`?`;
    throw usage(`there is no schema of \`${asked}\``, help);
  }
  const { schemaOf, schemaText } = await import('../schemas.js');
  if (format === 'json') await writeJson(io, schemaOf(kind));
  else await write(io.stdout, schemaText(kind));
}
