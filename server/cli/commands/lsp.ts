// `bailiwick lsp`: the language server that editors start.
import type { Command } from 'commander';
import { programVersion } from '../../lib/version.js';
import type { CliIo } from '../io.js';
import { withExamples } from '../options.js';

export function defineLsp(command: Command, io: CliIo): void {
  command.option('--stdio', 'use stdin and stdout, which is also the default').action(async () => {
    const { serveLsp } = await import('../../lsp/serve-lsp.js');
    await serveLsp({ stdin: io.stdin, stdout: io.stdout, version: programVersion(), now: Date.now });
  });
  withExamples(command, [['as an editor starts it', 'bailiwick lsp --stdio']]);
}
