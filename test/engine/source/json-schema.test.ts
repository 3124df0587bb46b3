// The editor schemas and the decoders come from one description and must agree: what the reader accepts is valid, and what it refuses
// because of its shape is not. Checked with all fixtures, all examples of the code pages, and generated documents.
import { describe, expect, it, test } from '@jest/globals';
import { Ajv } from 'ajv';
import fc from 'fast-check';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import {
  codePage,
  PROBLEM_CODES,
  type DiagnosticCode,
  policySchema,
  readPolicy,
  readYaml,
} from '../../../engine/compiler.js';
import { fromRoot } from '../../support/root.js';
import { testRuns } from '../../support/test-runs.js';

const ajv = new Ajv({ strict: true, strictRequired: false });
const validators = { policy: ajv.compile(policySchema('policy')), sections: ajv.compile(policySchema('sections')) };

/** Refusals of a value's shape that no schema can say: bytes, calendars, and the same identity in two spellings. */
const BEYOND_SCHEMA: readonly DiagnosticCode[] = ['VALUE_TOO_LONG', 'GRANT_WINDOW'];

const SHAPE_AREAS =
  /^(?:KEY_(?:UNKNOWN|MISSING|MISPLACED)|VALUE_|NAME_|IDENTITY_|INSTANT_|DURATION_|NAMESPACE_|SCOPE_|TEST_EXPECT|GUARDRAIL_(?:KIND|PLACE|SCOPES|SIDES)|GRANT_PRINCIPAL|EXCLUSIVE_SINGLE|FOLDER_PATH|POLICY_VERSION|(?:PROVIDER|FAMILY)_RESERVED|KEY_FORBIDDEN)/;

/** Whether the reader finds the shapes of one file in order; null if it did not get so far, or says nothing. */
function shapeAccepted(path: string, bytes: Uint8Array): boolean | null {
  const files = [{ path, bytes }];
  const { diagnostics } = readPolicy(files);
  const own = diagnostics.filter((found) => found.file === path);
  if (own.some(({ code }) => /^(?:TEXT|YAML|FILE|LIMIT)_/.test(code))) return null;
  const codes = own.map(({ code }) => code).filter((code) => !BEYOND_SCHEMA.includes(code));
  return !codes.some((code) => SHAPE_AREAS.test(code));
}

function valid(path: string, document: unknown): boolean {
  return validators[path === 'policy.yaml' ? 'policy' : 'sections'](document);
}

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

describe('every fixture and example', () => {
  const folder = fromRoot('fixtures/policies');
  const fixtures = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.yaml') && statSync(join(folder, path)).isFile())
    .map((path) => ({
      name: path,
      path: path.endsWith('/policy.yaml') ? 'policy.yaml' : 'other.yaml',
      bytes: new Uint8Array(readFileSync(join(folder, path))),
    }));
  const examples = PROBLEM_CODES.flatMap((code) => {
    const { shows, wrong, right } = codePage(code);
    const path = shows === 'policy.yaml' ? shows : 'other.yaml';
    return shows === 'words' ? [] : [wrong, right].map((text) => ({ name: code, path, bytes: encode(text) }));
  });

  it('is valid by the schema exactly if the reader finds its shapes in order', () => {
    const judged = [...fixtures, ...examples].map((file) => ({
      ...file,
      accepted: shapeAccepted(file.path, file.bytes),
    }));
    // A forbidden key never reaches a value that could be judged.
    const told = judged.filter((file) => file.accepted !== null && !file.name.includes('KEY_FORBIDDEN'));
    expect(told.filter((file) => file.accepted === true).length).toBeGreaterThan(80);
    expect(told.filter((file) => file.accepted === false).length).toBeGreaterThan(50);
    const split = told.filter((file) => valid(file.path, readYaml(file).value) !== file.accepted);
    expect(split.map((file) => `${file.name}: reader ${String(file.accepted)}`)).toEqual([]);
  });
});

// Documents near the border: mostly right, with parts left out, renamed, emptied and exchanged.
const odd = fc.constantFrom<unknown>(
  '',
  'x',
  'Staff',
  0,
  1,
  2,
  true,
  [],
  {},
  ['a'],
  { role: 'a' },
  '/labs/',
  'a:b',
  '*:read',
);
const text = (...right: readonly string[]): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 12, arbitrary: fc.constantFrom<unknown>(...right) }, { weight: 1, arbitrary: odd });
const names = text('staff', 'a', 'x.y_z-1', '0', 'constructor', '-a', 'x'.repeat(128), 'x'.repeat(129));
const places = text('/', '/labs', '/labs/optics2', '/a/.b', '/a/..', `/${'s'.repeat(64)}`, '/a'.repeat(33), '/~x/..y');
const scopes = text('resource:read', '*:write', 'process-run:*', 'resource', '*-template:read');
const identities = fc.oneof(
  text('github:octocat', 'orcid:a b', 'orcid:x:y', 'orcid: x', 'orcid:', 'Git:x', `a:${'x'.repeat(255)}`),
  fc.record({ provider: names, subject: text('octocat', ' x', 'é') }, { requiredKeys: ['provider'] }),
);
const instants = text('2026-12-01T00:00:00Z', '2026-12-01T00:00:00.123-05:00', '2026-13-01T00:00:00Z', '2026-12-01');
const few = <T>(item: fc.Arbitrary<T>, minLength = 0): fc.Arbitrary<T[]> =>
  fc.uniqueArray(item, { minLength, maxLength: 3, selector: (value) => JSON.stringify(value) });
const some = (fields: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<unknown> =>
  fc.oneof(
    { weight: 15, arbitrary: fc.record(fields, { requiredKeys: [] }) },
    { weight: 1, arbitrary: fc.constant({ extra: 1 }) },
    { weight: 1, arbitrary: odd },
  );

const grants = some({
  id: names,
  role: names,
  identity: identities,
  namespace: places,
  scopes: few(scopes),
  inherit: fc.constantFrom<unknown>(true, false, 'true'),
  notBefore: instants,
  expires: instants,
  reason: text('why'),
});
const except = some({ roles: few(names), identities: few(identities) });
const to = some({ providers: few(names), roles: few(names), identities: few(identities) });
const rule = { scopes: few(scopes), under: places, to, except };
const count = some({
  identities: text('2', 'x'),
  scope: scopes,
  scopes: few(scopes),
  at: text('/', 'every-top-level'),
});
const guardrails = some({
  id: names,
  description: text('d'),
  never: some(rule),
  separate: fc.oneof(few(scopes), some(rule)),
  atLeast: count,
  atMost: some({ identities: text('2'), scope: scopes, at: text('/'), to, except }),
  expires: some({ providers: few(names), within: text('90d', '0d', '1y') }),
});
const accesses = text(
  'resource:read /labs',
  'resource:* /',
  'resource:read',
  'resource:read  /',
  'namespace:write /a/',
);
const tests = some({
  name: text('a test', ' '),
  actor: some({ identities: few(identities), credentialScopes: few(scopes), namespaceRestrictions: few(places) }),
  at: instants,
  allow: few(accesses),
  deny: few(accesses),
  sees: fc.dictionary(fc.constantFrom('resource /labs', 'resource', 'lens /labs'), few(places), { maxKeys: 1 }),
});
const roles = fc.dictionary(
  fc.constantFrom('staff', 'Staff', 'prototype', 'x-group'),
  some({ description: text('d'), members: few(fc.oneof(identities, some({ role: names }))), scopes: few(scopes) }),
  { maxKeys: 2 },
);
const people = fc.dictionary(fc.constantFrom('ana', 'Ana', 'x-group'), some({ identities: few(identities) }), {
  maxKeys: 2,
});
const sections = some({
  within: places,
  roles,
  people,
  grants: few(grants),
  guardrails: few(guardrails),
  tests: few(tests),
});
const providers = fc.dictionary(fc.constantFrom('orcid', 'orcid-group', 'Orcid'), some({ description: text('d') }));
const header = some({ bailiwick: fc.constantFrom<unknown>(1, 2, '1'), name: names, providers });

test('generated documents are judged alike', () => {
  const agree = (path: string, generated: unknown): void => {
    const bytes = encode(JSON.stringify(generated));
    const document: unknown = JSON.parse(JSON.stringify(generated));
    const accepted = shapeAccepted(path, bytes);
    if (accepted !== null) expect({ document, valid: valid(path, document) }).toEqual({ document, valid: accepted });
  };
  fc.assert(
    fc.property(sections, (document) => {
      agree('other.yaml', document);
    }),
    testRuns({ usual: 250, deep: 500 }),
  );
  fc.assert(
    fc.property(header, (document) => {
      agree('policy.yaml', document);
    }),
    testRuns({ usual: 50, deep: 100 }),
  );
});
