// `bailiwick schema [kind]`: the JSON Schemas for editors.
import { Argument, type Command } from 'commander';
import { type CliIo, write } from '../io.js';
import { withExamples } from '../options.js';
import type { SchemaKind } from '../schemas.js';

const KINDS: readonly SchemaKind[] = ['policy', 'sections', 'config'];

export function registerSchema(program: Command, io: CliIo): void {
  const command = program
    .command('schema')
    .description('print the JSON Schema of a kind of file: policy.yaml, any other policy file, or bailiwick.yaml')
    .addArgument(new Argument('[kind]', 'which').choices(KINDS).default('sections'))
    .action((kind: SchemaKind) => schema(io, kind));
  withExamples(command, [
    ['for an editor, as `bailiwick init` does', 'bailiwick schema policy > .schema/policy.json'],
    ['of the settings', 'bailiwick schema config'],
  ]);
}

async function schema(io: CliIo, kind: SchemaKind): Promise<void> {
  const { schemaText } = await import('../schemas.js');
  await write(io.stdout, schemaText(kind));
}
