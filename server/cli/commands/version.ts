// `bailiwick version`: which program this is, and what it runs on.
import { type CliIo, write, writeJson } from '../io.js';
import { programVersion } from '../../lib/version.js';
import { formats } from '../options.js';
import { type Given, verb } from '../verb.js';

const TAKES = formats();

export const defineVersion = verb(TAKES, version, {
  examples: { 'for a report': 'bailiwick version --format json' },
  json: ['{"version","node","platform"}'],
});

async function version(io: CliIo, { format }: Given<typeof TAKES>): Promise<void> {
  const facts = {
    version: programVersion(),
    node: process.versions.node,
    platform: `${process.platform}-${process.arch}`,
  };
  if (format === 'json') await writeJson(io, facts);
  else await write(io.stdout, `bailiwick ${facts.version} (Node ${facts.node}, ${facts.platform})\n`);
}
