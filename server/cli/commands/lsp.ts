// `bailiwick lsp`: the language server that editors start.
import type { Command } from 'commander';
import type { CliIo } from '../io.js';
import { withExamples } from '../options.js';

export function defineLsp(command: Command, io: CliIo): void {
  command.option('--stdio', 'speak over stdin and stdout; the only way there is').action(async () => {
    const [{ serveLsp }, { programVersion }] = await Promise.all([
      import('../../lsp/serve-lsp.js'),
      import('../../lib/version.js'),
    ]);
    await serveLsp({ stdin: io.stdin, stdout: io.stdout, version: programVersion(), now: Date.now });
  });
  withExamples(command, [['as an editor starts it', 'bailiwick lsp --stdio']]);
}
