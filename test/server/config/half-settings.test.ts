// Settings that mean nothing without another one: a single one is refused, with its place and what to do.
import { expect, test } from '@jest/globals';
import { type ConfigSources, readConfig } from '../../../server/config/index.js';
import { makeFolder } from '../../support/temp-folder.js';

interface Given {
  readonly file?: string;
  readonly files?: Readonly<Record<string, string>>;
}

test.each<[string, Partial<ConfigSources> & Given, readonly string[]]>([
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
  [
    'what belongs to a git source that the command line displaces',
    {
      file: 'snapshot: { source: { git: /srv/p, ref: refs/heads/main, path: policies } }\n',
      flags: { policy: 'policies' },
    },
    [],
  ],
  [
    'the same in a variable',
    {
      file: 'snapshot: { source: { url: "https://p.example.org/s", caFile: ca.pem } }\n',
      env: { BAILIWICK_POLICY: 'p' },
    },
    [],
  ],
  [
    'what belongs to no source, as near as the one that is set',
    { file: 'policy: policies\nsnapshot: { source: { ref: refs/heads/main } }\n' },
    ['bailiwick.yaml:2:28: `snapshot.source.ref` needs `snapshot.source.git`, which is not set; set both or none'],
  ],
  [
    'a wrong value of what is displaced',
    { file: 'snapshot: { source: { git: /srv/p, ref: main } }\n', flags: { policy: 'policies' } },
    [expect.stringMatching(/^bailiwick.yaml:1:\d+: `snapshot.source.ref` must be /) as unknown as string],
  ],
  ['both, from two sources', { file: 'tls: { certFile: a }\n', env: { BAILIWICK_TLS_KEY_FILE: 'k' } }, []],
  [
    'a replica beside a database from a file',
    {
      files: { url: 'postgres://a/b\n', replica: 'postgres://c/b\n' },
      file: 'databaseUrlFile: url\ndatabaseReadUrlFile: replica\n',
    },
    [],
  ],
  [
    'the same in variables',
    {
      files: { url: 'postgres://a/b\n', replica: 'postgres://c/b\n' },
      env: { DATABASE_URL_FILE: 'url', DATABASE_READ_URL_FILE: 'replica' },
    },
    [],
  ],
  [
    'a replica of its own',
    { env: { DATABASE_READ_URL: 'postgres://c/b' } },
    ['DATABASE_READ_URL: needs `databaseUrl`, which is not set; set both or none'],
  ],
])('%s', async (_, { file, files = {}, ...sources }, expected) => {
  const cwd = await makeFolder({ ...files, ...(file === undefined ? {} : { 'bailiwick.yaml': file }) });
  const { faults } = await readConfig({ flags: {}, env: {}, cwd, ...sources });
  expect(faults.map(({ place, message, fix }) => `${place}: ${message}; ${fix ?? ''}`)).toEqual(expected);
});

test.each<[string, string, Record<string, string>]>([
  ['databaseUrl', 'databaseReadUrl', { DATABASE_URL: 'postgres://a/b' }],
  ['databaseUrl', 'databaseReadUrl', { DATABASE_URL_FILE: 'url' }],
  ['databaseUrlFile', 'databaseReadUrlFile', { DATABASE_URL: 'postgres://a/b' }],
  ['databaseUrlFile', 'databaseReadUrlFile', { DATABASE_URL_FILE: 'url' }],
])('a replica stays where %s and %s of the file meet %j', async (store, replica, env) => {
  const valueOf = (name: string, place: string): string => (name.endsWith('File') ? place : `postgres://${place}/b`);
  const cwd = await makeFolder({
    ...{ url: 'postgres://a/b\n', other: 'postgres://other/b\n', replica: 'postgres://replica/b\n' },
    'bailiwick.yaml': `${store}: ${valueOf(store, 'other')}\n${replica}: ${valueOf(replica, 'replica')}\n`,
  });
  const { config, faults } = await readConfig({ flags: {}, env, cwd });
  expect(faults).toEqual([]);
  expect([config?.databaseUrl, config?.databaseReadUrl]).toEqual(['postgres://a/b', ['postgres://replica/b']]);
});
