// `bailiwick version`: which program this is, and what it runs on.
import type { Answer } from '../io.js';
import { programVersion } from '../../lib/version.js';
import { formats } from '../options.js';
import { verb } from '../verb.js';

export const defineVersion = verb(formats(), version, {
  examples: { 'for a report': 'bailiwick version --format json' },
  json: ['{"version","node","platform"}'],
});

function version(): Promise<Answer> {
  const facts = {
    version: programVersion(),
    node: process.versions.node,
    platform: `${process.platform}-${process.arch}`,
  };
  const text = `bailiwick ${facts.version} (Node ${facts.node}, ${facts.platform})\n`;
  return Promise.resolve({ json: () => facts, text: () => text });
}
