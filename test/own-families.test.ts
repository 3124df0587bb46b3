// Families of one's own as somebody meets them who copies docs/examples/erp: its checks, the verbs that ask it, what `diff` says of its
// words, and a service with a table of its own.
import { PGlite } from '@electric-sql/pglite';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Express, Request } from 'express';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import type { Server } from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { compilePolicy, readPolicy } from '../engine/compiler.js';
import { type Identity, loadSnapshot, parseIdentity, type Policy } from '../engine/index.js';
import { fromRoot } from './support/root.js';
import { runCli } from './support/run-cli.js';
import { makeFolder } from './support/temp-folder.js';

const ERP = fromRoot('docs/examples/erp');
const AT = ['--at', '2029-12-20T00:00:00Z'];

/** A copy in which texts of `policy.yaml` are others. */
async function changed(...edits: readonly (readonly [from: string, to: string])[]): Promise<string> {
  const folder = join(await makeFolder(), 'erp');
  cpSync(ERP, folder, { recursive: true });
  const file = join(folder, 'policy.yaml');
  let text = readFileSync(file, 'utf8');
  for (const [from, to] of edits) {
    expect(text).toContain(from);
    text = text.replace(from, to);
  }
  writeFileSync(file, text);
  return folder;
}

const out = async (...args: readonly string[]): Promise<string> => {
  const { status, stdout, stderr } = await runCli(args);
  return `${String(status)} ${stdout}${stderr}`;
};

describe('the policy of an ERP', () => {
  it('is in order', async () => {
    expect(await out('check', ERP, '--at', '2029-12-01T00:00:00Z')).toContain(
      'no mistakes in 6 files, 4 tests passed, 4 guardrails held',
    );
    expect(await runCli(['fmt', ERP, '--check'])).toMatchObject({ status: 0 });
  });

  it('needs its exclusive groups: without them the proof names who could do both', async () => {
    const folder = await changed([
      '  - [okta-group:auditors, okta-group:emea-clerks, okta-group:emea-approvers, okta-group:emea-treasury]\n',
      '',
    ]);
    const told = await out('check', folder, ...AT);
    expect(told).toMatch(/^4 /);
    expect(told).toContain('violated guardrail who-enters-an-invoice-does-not-approve-it');
    expect(told).toContain('invoice:approve, invoice:write at and below /companies/emea\n');
  });

  it.each([
    [['who-can', ERP, 'invoice:approve', '/companies/emea/de'], 'okta:e-1030\n'],
    [['who-can', ERP, 'invoice:approve', '/companies/emea/fr'], '1 identity holds invoice:approve'],
    [['what-can', ERP, 'okta-group:emea-treasury'], 'invoice:pay'],
    [
      [
        'visible',
        ERP,
        '--as',
        'okta:e-1030',
        '--family',
        'invoice',
        '--action',
        'approve',
        '--namespace',
        '/',
        '--reach',
        'subtree',
      ],
      'at and below /companies/emea/de\n',
    ],
    [
      [
        'explain',
        ERP,
        '--as',
        'okta-group:emea-clerks',
        '--scope',
        'invoice:write',
        '--namespace',
        '/companies/emea',
        '--context',
        '/companies/emea/de',
      ],
      'denied at target_relationship',
    ],
    [
      [
        'explain',
        ERP,
        '--as',
        'okta-group:emea-clerks',
        '--scope',
        'invoice:read',
        '--namespace',
        '/companies/emea',
        '--context',
        '/companies/emea/de',
      ],
      'allowed',
    ],
  ])('answers %j', async (args, told) => {
    expect(await out(...args, ...AT)).toContain(told);
  });

  it.each([
    [
      ['who-can', ERP, 'invoice:aprove', '/'],
      '2 error: `invoice:aprove` is not a scope of the policy\n  help: did you mean `invoice:approve`?\n',
    ],
    [
      ['visible', ERP, '--as', 'okta:e-1', '--family', 'invioce', '--namespace', '/'],
      '2 error: `invioce:read` is not a scope of the policy\n  help: did you mean `invoice:read`?\n',
    ],
    [
      ['who-can', ERP, 'Invoice:approve', '/'],
      '2 error: `Invoice:approve` is not a scope\n  help: did you mean `invoice:approve`?\n',
    ],
    [
      ['prove', ERP, '--identity', 'okta:e-1', '--scope', 'invoice-approve', '--namespace', '/'],
      '2 error: `invoice-approve` is not a scope\n  help: did you mean `invoice:approve`?\n',
    ],
    [
      ['export', 'rls', ERP, '--table', 'invoices=invoices'],
      '2 error: the policy knows no family `invoices`\n  help: did you mean `invoice`?\n',
    ],
    [
      [
        'explain',
        ERP,
        '--as',
        'okta:e-1',
        '--scope',
        'invoice:read',
        '--namespace',
        '/',
        '--credential-scopes',
        'invoice:reed',
      ],
      '2 error: `invoice:reed` is not a scope of the policy\n  help: did you mean `invoice:read`?\n',
    ],
  ])('says what was meant by %j', async (args, told) => {
    expect(await out(...args)).toBe(told);
  });

  it('decides request by request, and a scope that it does not have is none', async () => {
    const ask = (scope: string, credentialScopes?: readonly string[]): string =>
      JSON.stringify({
        actor: {
          identities: ['okta-group:emea-clerks'],
          ...(credentialScopes === undefined ? {} : { credentialScopes }),
        },
        request: { kind: 'access', scope, target: '/companies/emea/de' },
      });
    const lines = [
      ask('invoice:write'),
      ask('invoice:approve'),
      ask('invoice:write', ['invoice:read']),
      ask('invoice:void'),
      ask('order:read'),
    ];
    const file = join(await makeFolder({ 'asked.jsonl': `${lines.join('\n')}\n` }), 'asked.jsonl');
    const { stdout } = await runCli(['decide', ERP, '--requests', file, ...AT]);
    const steps = stdout
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { step?: string }).step ?? 'allow');
    expect(steps).toEqual(['allow', 'no_matching_grant', 'credential_scope', 'unknown_scope', 'unknown_scope']);
  });

  it('is told apart from one with another word, though nobody gains anything', async () => {
    const more = await changed(['[approve, pay]', '[approve, pay, void]']);
    const text = await out('diff', ERP, more);
    expect(text).toContain('scopes added: invoice:void\nno access is gained or lost\n');
    expect(text).not.toContain('tests changed');
    expect(await out('diff', more, ERP)).toContain('scopes removed: invoice:void\n');
    const { stdout } = await runCli(['diff', ERP, more, '--format', 'json']);
    expect(JSON.parse(stdout)).toMatchObject({ equal: false, scopes: { added: ['invoice:void'], removed: [] } });
    expect(await out('diff', ERP, more, '--format', 'markdown')).toContain('**scopes added: `invoice:void`**');
  });

  it('cannot give up a family that is in use', async () => {
    const folder = await changed(['  supplier: { description: Suppliers with their bank accounts }\n', '']);
    const told = await out('check', folder);
    expect(told).toMatch(/^3 /);
    expect(told).toContain('audit.yaml:');
    expect(told).toContain('SCOPE_UNKNOWN `supplier:read` is not a scope');
    expect(told).toContain('`policy.yaml` declares no family `supplier`; `families: { supplier: {} }` would');
  });

  it.each([
    ['approve', 'write `invoice:approve`'],
    ["'*:pay'", 'write `invoice:pay`'],
    ['resource:pay', 'write `invoice:pay`'],
    ["'badge:007'", '`policy.yaml` declares no family `badge`; `families: { badge: { actions: ["007"] } }` would'],
  ])('says how %s is written, or declared', async (scope, told) => {
    const folder = await changed();
    writeFileSync(
      join(folder, 'extra.yaml'),
      `grants:\n  - { id: x, identity: okta:e-9, scopes: [${scope}], namespace: /companies }\n`,
    );
    expect(await out('check', folder)).toContain(`is not a scope\n`);
    expect(await out('check', folder)).toContain(`help: ${told}\n`);
  });

  it('may not name a family of records, nor have more than 64 scopes', async () => {
    expect(await out('check', await changed(['  supplier:', '  resource:']))).toContain('FAMILY_RESERVED');
    const actions = Array.from({ length: 60 }, (_, i) => `a${String(i)}`).join(', ');
    expect(await out('check', await changed(['[approve, pay]', `[approve, pay, ${actions}]`]))).toMatch(
      /^3 [^]*more than 64 scopes[^]*help: declare fewer families or actions/,
    );
  });
});

it('`*:read` stays what it was when a family is declared', async () => {
  const policy = (families: string): Record<string, string> => ({
    'policy.yaml': `bailiwick: 1\nname: p\nproviders: { orcid: {} }\n${families}`,
    'grants.yaml': 'grants:\n  - { id: g, identity: orcid:a, namespace: /, scopes: ["*:read"] }\n',
  });
  const [before, after] = [await makeFolder(policy('')), await makeFolder(policy('families: { invoice: {} }\n'))];
  const { stdout } = await runCli(['diff', before, after, '--format', 'json']);
  expect(JSON.parse(stdout)).toMatchObject({
    gained: [],
    lost: [],
    scopes: { added: ['invoice:read', 'invoice:write'] },
  });
  expect(await out('who-can', after, 'invoice:read', '/')).toContain('nobody');
});

describe('the service of the page on embedding', () => {
  let server: Server;
  let db: PGlite;
  const ask = async (
    who: string,
    method: 'GET' | 'POST',
    path: string,
    body?: object,
  ): Promise<readonly [number, unknown]> => {
    const { port } = server.address() as AddressInfo;
    const response = await fetch(`http://127.0.0.1:${String(port)}${path}`, {
      method,
      headers: { 'content-type': 'application/json', 'x-who': who },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return [response.status, await response.json()];
  };

  beforeAll(async () => {
    const names = [
      'policy.yaml',
      'audit.yaml',
      'guardrails.yaml',
      'tests.yaml',
      'teams/emea/grants.yaml',
      'teams/apac/grants.yaml',
    ];
    const { policy: set } = readPolicy(names.map((path) => ({ path, bytes: readFileSync(join(ERP, path)) })));
    const compiled = set === null ? null : compilePolicy(set);
    const loaded = compiled?.ok === true ? loadSnapshot(compiled.snapshot.bytes) : null;
    if (loaded?.ok !== true) throw new Error('the policy compiles');
    db = new PGlite();
    await db.exec(
      `create table invoices (id serial primary key, namespace text collate "C" not null, amount integer not null, state text not null default 'entered')`,
    );
    const { makeApp } = (await import(pathToFileURL(fromRoot('docs/examples/erp-app.mjs')).href)) as {
      readonly makeApp: (parts: {
        readonly policy: Policy;
        readonly db: PGlite;
        readonly identitiesOf: (request: Request) => readonly Identity[];
        readonly now: () => number;
      }) => Express;
    };
    const identitiesOf = (request: Request): readonly Identity[] =>
      (request.get('x-who') ?? '').split(' ').flatMap((text) => {
        const read = parseIdentity(text);
        return read.ok ? [read.identity] : [];
      });
    const app = makeApp({ policy: loaded.policy, db, identitiesOf, now: () => Date.parse('2029-12-20T00:00:00Z') });
    await new Promise<void>((resolve) => {
      server = app.listen(0, '127.0.0.1', () => {
        resolve();
      });
    });
  });
  afterAll(async () => {
    await new Promise((resolve) => server.close(resolve));
    await db.close();
  });

  it('keeps who enters, who approves and who pays apart', async () => {
    const [clerk, approver, treasury] = ['clerks', 'approvers', 'treasury'].map(
      (name) => `okta:e-1 okta-group:emea-${name}`,
    ) as [string, string, string];
    expect(await ask(clerk, 'POST', '/invoices', { namespace: '/companies/emea/de', amount: 120 })).toEqual([
      201,
      { id: 1 },
    ]);
    expect(await ask(clerk, 'POST', '/invoices', { namespace: '/companies/emea', amount: 7 })).toEqual([
      201,
      { id: 2 },
    ]);
    expect(await ask(clerk, 'POST', '/invoices', { namespace: '/companies/apac/jp', amount: 1 })).toEqual([
      403,
      { step: 'no_matching_grant' },
    ]);
    expect(await ask(clerk, 'POST', '/invoices/1/approve')).toEqual([403, { step: 'no_matching_grant' }]);
    expect(await ask(treasury, 'POST', '/invoices/1/pay')).toEqual([409, { error: 'the invoice is not approved' }]);
    expect(await ask(approver, 'POST', '/invoices/1/approve')).toEqual([
      200,
      { state: 'approved', by: ['emea-approvers'] },
    ]);
    expect(await ask(treasury, 'POST', '/invoices/1/pay')).toEqual([200, { state: 'paid', by: ['emea-treasury'] }]);
    expect(await ask(`${clerk} okta-group:emea-approvers`, 'POST', '/invoices/2/approve')).toEqual([
      404,
      { error: 'no such invoice' },
    ]);
    expect(await ask('okta:e-1 okta-group:apac-approvers', 'POST', '/invoices/2/approve')).toEqual([
      404,
      { error: 'no such invoice' },
    ]);
  });

  it('lists what somebody may read, and what they may approve', async () => {
    const [german, regional] = [
      { id: 1, namespace: '/companies/emea/de', amount: 120, state: 'paid' },
      { id: 2, namespace: '/companies/emea', amount: 7, state: 'entered' },
    ];
    expect(await ask('okta-group:auditors', 'GET', '/invoices')).toEqual([200, [german, regional]]);
    expect(await ask('okta:e-1030', 'GET', '/invoices?may=approve')).toEqual([200, [german]]);
    expect(await ask('okta-group:apac-clerks', 'GET', '/invoices')).toEqual([200, []]);
    expect(await ask('okta:e-9', 'GET', '/invoices')).toEqual([403, { step: 'no_matching_grant' }]);
    expect(await ask('okta-group:auditors', 'GET', '/invoices?may=aprove')).toEqual([403, { step: 'unknown_scope' }]);
  });
});
