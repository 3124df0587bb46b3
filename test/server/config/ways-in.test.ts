// The settings of `authentication`: lists of groups and an optional group, every fault with its place, and what contradicts itself.
import { describe, expect, test } from '@jest/globals';
import { type Config, ConfigError, type ConfigSources, loadConfig } from '../../../server/config/index.js';
import { makeFolder } from '../../support/temp-folder.js';

async function load(sources: Partial<ConfigSources> & { readonly file?: string } = {}): Promise<Config> {
  const cwd = await makeFolder(sources.file === undefined ? {} : { 'bailiwick.yaml': sources.file });
  return loadConfig({ flags: sources.flags ?? {}, env: sources.env ?? {}, cwd });
}

async function faultsOf(sources: Partial<ConfigSources> & { readonly file?: string }): Promise<readonly string[]> {
  try {
    await load(sources);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.faults.map(({ place, message, fix }) => `${place}: ${message}${fix === undefined ? '' : `; ${fix}`}`);
  }
  return [];
}

describe('a list of groups', () => {
  const ISSUER = [
    'authentication:',
    '  oidc:',
    '    - issuer: https://id.example.org/',
    '      audience: bailiwick',
    '      provider: orcid',
    '      algorithms: [ES256, RS256]',
  ];

  test('has the values of each, with defaults of their own', async () => {
    const file = [...ISSUER, '      maxTokenAge: 1h', '      groupsClaim: groups'].join('\n');
    const { oidc } = (await load({ file })).authentication;
    expect(oidc).toEqual([
      {
        issuer: 'https://id.example.org/',
        audience: ['bailiwick'],
        provider: 'orcid',
        algorithms: ['RS256', 'ES256'],
        jwksUrl: null,
        clients: null,
        tokenType: 'any',
        clockTolerance: 30_000,
        maxTokenAge: 3_600_000,
        scopeClaim: null,
        groupsClaim: 'groups',
        groupsSeparator: null,
        restrictionsClaim: null,
      },
    ]);
    for (const part of [oidc, oidc[0], oidc[0]?.audience]) expect(Object.isFrozen(part)).toBe(true);
  });

  test('C14 has every fault with its place, its path and what to do', async () => {
    const file = [
      'authentication:',
      '  oidc:',
      '    - issuer: ""',
      '      audience: []',
      '      algorithms: [RS256, HS256]',
      '    - issuer: https://id.example.org/',
      '      audience: ["a", ""]',
      '      provider: orcid-group',
      '      algorithms: none',
      '      jwksUrl: http://id.example.org/jwks',
      '      maxTokenAge: forever',
      '      audiense: x',
      '    - text',
    ].join('\n');
    expect(await faultsOf({ file })).toEqual([
      'bailiwick.yaml:3:7: `authentication.oidc.0.provider` is missing; add it: name of the issuer in the policy, under `providers`; a token is for the identity `<provider>:<sub>`',
      'bailiwick.yaml:3:15: `authentication.oidc.0.issuer` must be a string that is not empty',
      'bailiwick.yaml:4:17: `authentication.oidc.0.audience` must be a string that is not empty, or a list of those',
      'bailiwick.yaml:5:27: `authentication.oidc.0.algorithms` must be a list of at least one of `RS256`, `RS384`, `RS512`, `PS256`, `PS384`, `PS512`, `ES256`, `ES384`, `ES512`, `EdDSA`',
      'bailiwick.yaml:12:7: there is no setting `authentication.oidc.1.audiense`; did you mean `audience`?',
      'bailiwick.yaml:7:17: `authentication.oidc.1.audience` must be a string that is not empty, or a list of those',
      'bailiwick.yaml:7:23: `authentication.oidc.1.audience` must be a string that is not empty, or a list of those',
      'bailiwick.yaml:9:19: `authentication.oidc.1.algorithms` must be a list of at least one of `RS256`, `RS384`, `RS512`, `PS256`, `PS384`, `PS512`, `ES256`, `ES384`, `ES512`, `EdDSA`',
      'bailiwick.yaml:13:7: `authentication.oidc.2` must be a mapping of settings',
      'bailiwick.yaml:8:17: `authentication.oidc.1.provider` must not end in `-group`: such names are for the groups of a provider',
      'bailiwick.yaml:10:16: `authentication.oidc.1.jwksUrl` must begin with `https://`; `http://` is for this machine only, as in `http://127.0.0.1:9000/`',
      'bailiwick.yaml:11:20: `authentication.oidc.1.maxTokenAge` must be a duration such as `30s`, `15m`, `24h` or `90d`',
    ]);
  });

  test('a duration of nothing says what the smallest is, and how to switch the thing off', async () => {
    const file = [
      'shutdown: { notice: 0s, deadline: 0m }',
      'snapshot: { softAge: 0d }',
      'limits: { idempotency: 0h }',
    ].join('\n');
    expect(await faultsOf({ file })).toEqual([
      'bailiwick.yaml:3:24: `limits.idempotency` must be at least `1s`; it cannot be switched off',
      'bailiwick.yaml:2:22: `snapshot.softAge` must be at least `1s`; leave it unset to switch it off',
      'bailiwick.yaml:1:21: `shutdown.notice` must be at least `1s`; leave it unset to switch it off',
      'bailiwick.yaml:1:35: `shutdown.deadline` must be at least `1s`; it cannot be switched off',
    ]);
  });

  test('C14 is not guessed at if it is not a list', async () => {
    expect(await faultsOf({ file: 'authentication: { oidc: { issuer: x } }\n' })).toEqual([
      'bailiwick.yaml:1:25: `authentication.oidc` must be a list',
    ]);
  });

  test('no two have a provider or an issuer in common, and one that has to be discovered is a URL', async () => {
    const file = [
      ...ISSUER,
      ...ISSUER.slice(2),
      '    - issuer: accounts',
      ...ISSUER.slice(3, 4),
      '      provider: github',
      ...ISSUER.slice(5),
    ];
    expect(await faultsOf({ file: file.join('\n') })).toEqual([
      'bailiwick.yaml:7:15: `authentication.oidc.1.issuer` is that of `authentication.oidc.0.issuer`; give each issuer one entry',
      'bailiwick.yaml:11:15: `authentication.oidc.2.issuer` must be a URL such as `https://id.example.org/`; or set `jwksUrl`, so that its keys need no discovery',
      'bailiwick.yaml:9:17: `authentication.oidc.1.provider` is that of `authentication.oidc.0.provider`; give each its own provider, and declare it in the policy',
    ]);
  });
});

test('methods of authentication that contradict one another are all reported at once', async () => {
  const introspection = (provider: string, prefix: string): string =>
    `    - { url: https://id.example.org/i, clientId: x, clientSecretFile: s, provider: ${provider}${prefix} }`;
  const file = [
    'authentication:',
    '  introspection:',
    introspection('a', ', tokenPrefix: ab'),
    introspection('b', ', tokenPrefix: abc'),
    introspection('a', ''),
    '  mtls: { caFile: ca.pem, provider: b, subjectFrom: "san:uri" }',
  ].join('\n');
  expect((await faultsOf({ file })).map((fault) => fault.replace(/^\S+ /, ''))).toEqual([
    '`authentication.introspection.2.provider` is that of `authentication.introspection.0.provider`; give each its own provider, and declare it in the policy',
    '`authentication.mtls.provider` is that of `authentication.introspection.1.provider`; give each its own provider, and declare it in the policy',
    ...['0', '1'].map(
      (index) =>
        `\`authentication.introspection.${index}.tokenPrefix\` does not tell which endpoint to ask about a token; give each endpoint a prefix that no other one begins with`,
    ),
    '`authentication.mtls.caFile` needs `tls.certFile`, which is not set; set both or none',
  ]);
});

test('addresses where clouds keep their secrets are no issuers', async () => {
  const never = 'https://169.254.169.254';
  const file = [
    'authentication:',
    '  oidc:',
    `    - { issuer: a, audience: b, provider: one, algorithms: [RS256], jwksUrl: "${never}/jwks" }`,
    '  introspection:',
    `    - { url: "${never}/", clientId: b, clientSecretFile: s, provider: three }`,
  ].join('\n');
  expect(await faultsOf({ file })).toEqual([
    'bailiwick.yaml:3:78: `authentication.oidc.0.jwksUrl` leads to an address that is reserved, or is not an address',
    'bailiwick.yaml:5:14: `authentication.introspection.0.url` leads to an address that is reserved, or is not an address',
  ]);
  const discovered = `authentication: { oidc: [{ issuer: "${never}", audience: b, provider: p, algorithms: [RS256] }] }`;
  expect(await faultsOf({ file: discovered })).toEqual([
    expect.stringMatching(/`authentication\.oidc\.0\.issuer` leads to an address/),
  ]);
});
