// `bailiwick lsp`: the language server that editors start.
import { programVersion } from '../../lib/version.js';
import { takes, verb } from '../verb.js';

const TAKES = takes({ '--stdio': 'use stdin and stdout, which is also the default' });

export const defineLsp = verb(
  TAKES,
  async (io) => {
    const { serveLsp } = await import('../../lsp/serve-lsp.js');
    await io.loadFailures();
    await serveLsp({ stdin: io.stdin, stdout: io.stdout, version: programVersion(), now: Date.now });
  },
  { examples: { 'as an editor starts it': 'bailiwick lsp --stdio' } },
);
