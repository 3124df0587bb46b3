// `bailiwick version`: which program this is, and what it runs on.
import type { Command } from 'commander';
import { type CliIo, write, writeJson } from '../io.js';
import { programVersion } from '../../lib/version.js';
import { type Format, formatOption, withExamples, withJson } from '../options.js';

export function defineVersion(command: Command, io: CliIo): void {
  command.addOption(formatOption()).action(({ format }: { readonly format: Format }) => version(io, format));
  withExamples(command, [['for a report', 'bailiwick version --format json']]);
  withJson(command, ['{"version","node","platform"}']);
}

async function version(io: CliIo, format: Format): Promise<void> {
  const facts = {
    version: programVersion(),
    node: process.versions.node,
    platform: `${process.platform}-${process.arch}`,
  };
  if (format === 'json') await writeJson(io, facts);
  else await write(io.stdout, `bailiwick ${facts.version} (Node ${facts.node}, ${facts.platform})\n`);
}
