// A policy in which every field of the snapshot format holds something, and ways to look into the file it compiles to.
import { fromParts, RECORD_SCOPE_SET } from '../../engine/model/scope-set.js';
import { compilePolicy } from '../../engine/compiler.js';
import { ALL_SCOPES, instantOf, type ScopeSet } from '../../engine/index.js';
import type { Place, PolicyGrant, PolicySet, PolicyTest } from '../../engine/model/policy-set.js';
import { type FieldTable, isField, SNAPSHOT_FIELDS, type SnapshotField } from '../../engine/snapshot/document.js';
import { pathOf } from './oracle/worlds.js';

export function place(file: string, line: number): Place {
  return { file, lines: Uint32Array.from({ length: line }, (_, i) => i), start: line - 1, end: line };
}

export const ADA = { provider: 'orcid', subject: 'ada' };
export const BOB = { provider: 'orcid', subject: 'bób' };

const GRANT: PolicyGrant = {
  id: 'crew-read',
  principal: { kind: 'role', role: 'crew' },
  namespace: pathOf('/labs/optics'),
  scopes: 1 as ScopeSet,
  inherit: true,
  notBefore: instantOf(-5),
  expires: instantOf(1_800_000_000_000),
  reason: 'They read.',
  place: place('grants/labs.yaml', 7),
};

const TEST: PolicyTest = {
  name: 'bob reads',
  identities: [BOB],
  credentialScopes: ALL_SCOPES,
  namespaceRestrictions: null,
  at: null,
  allow: [{ scope: 'resource:read', namespace: pathOf('/labs'), place: null }],
  deny: [],
  sees: [],
  place: null,
};

/** Every field of the format holds something. */
export const FULL: PolicySet = {
  name: 'full',
  providers: [
    { name: 'github', description: null },
    { name: 'orcid', description: null },
  ],
  roles: [
    {
      name: 'crew',
      description: 'Who works there.',
      members: [
        {
          ...{ kind: 'identity', identity: ADA, place: place('roles/a.yaml', 3) },
          ...{ notBefore: instantOf(-3), expires: instantOf(1_700_000_000_000) },
        },
        { kind: 'role', role: 'leads', place: place('roles/a.yaml', 3) },
      ],
      place: place('roles/a.yaml', 2),
    },
    {
      name: 'leads',
      description: null,
      members: [{ kind: 'identity', identity: BOB, place: place('roles/b.yaml', 4) }],
      place: place('roles/b.yaml', 1),
    },
  ],
  folders: [{ path: 'grants', within: pathOf('/labs'), exports: ['crew'], place: place('policy.yaml', 6) }],
  families: [
    { name: 'invoice', actions: ['approve', 'pay'], description: 'Invoices.' },
    { name: 'order', actions: ['ship'], description: null },
  ],
  exclusive: [{ identities: [ADA, BOB], place: place('policy.yaml', 4) }],
  grants: [
    GRANT,
    {
      ...GRANT,
      id: 'bob-all',
      principal: { kind: 'identity', identity: BOB },
      namespace: pathOf('/labs'),
      scopes: fromParts(RECORD_SCOPE_SET, ['invoice:approve']),
      inherit: false,
      notBefore: null,
      expires: null,
    },
  ],
  people: [{ name: 'bob', identities: [BOB], place: null }],
  tests: [TEST],
  guardrails: [
    {
      id: 'apart',
      description: null,
      rule: {
        kind: 'separate',
        sides: [16 as ScopeSet, 32 as ScopeSet],
        under: pathOf('/labs'),
        to: null,
        except: { roles: ['crew'], identities: [] },
      },
      place: null,
    },
  ],
};

export function compile(set: PolicySet): {
  readonly bytes: Uint8Array;
  readonly text: string;
  readonly digest: string;
  readonly decisions: string;
} {
  const compiled = compilePolicy(set);
  if (!compiled.ok) throw new Error('the policy compiles');
  return { ...compiled.snapshot, text: new TextDecoder().decode(compiled.snapshot.bytes) };
}

function leavesOf(table: FieldTable, path = ''): readonly (readonly [string, SnapshotField])[] {
  return Object.entries(table).flatMap(([key, entry]) =>
    isField(entry) ? [[`${path}${key}`, entry] as const] : leavesOf(entry, `${path}${key}.`),
  );
}

export const LEAVES = leavesOf(SNAPSHOT_FIELDS);

export function valueAt(value: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((inner, key) => (inner as Record<string, unknown>)[key], value);
}
