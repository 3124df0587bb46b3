// Settings that mean nothing without another one: a single one is refused, with its place and what to do.
import { expect, test } from '@jest/globals';
import { type ConfigSources, readConfig } from '../../../server/config/index.js';
import { makeFolder } from '../../support/temp-folder.js';

test.each<[string, Partial<ConfigSources> & { readonly file?: string }, readonly string[]]>([
  [
    'a certificate without its key',
    { file: 'tls: { certFile: a }\n' },
    ['bailiwick.yaml:1:18: `tls.certFile` needs `tls.keyFile`, which is not set; set both or none'],
  ],
  [
    'a key without its certificate, in a variable',
    { env: { BAILIWICK_TLS_KEY_FILE: 'k' } },
    ['BAILIWICK_TLS_KEY_FILE: needs `tls.certFile`, which is not set; set both or none'],
  ],
  ['both, from two sources', { file: 'tls: { certFile: a }\n', env: { BAILIWICK_TLS_KEY_FILE: 'k' } }, []],
])('%s', async (_, { file, ...sources }, expected) => {
  const cwd = await makeFolder(file === undefined ? {} : { 'bailiwick.yaml': file });
  const { faults } = await readConfig({ flags: {}, env: {}, cwd, ...sources });
  expect(faults.map(({ place, message, fix }) => `${place}: ${message}; ${fix ?? ''}`)).toEqual(expected);
});
