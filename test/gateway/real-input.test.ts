// Real input: the owners of a large public repository as a policy, and its proposals as records (see the data folder's
// README). For ten people, every family and every reach, the gateway's pages hold what `decide` allows record by
// record.
import { createReadStream } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { compilePolicy, type PolicySet, readPolicy } from '../../engine/compiler.js';
import {
  ALL_SCOPES,
  canonicalize,
  decide,
  FAMILIES,
  type Family,
  formatIdentity,
  type Identity,
  instantOf,
  isWithin,
  loadSnapshot,
  type NamespacePath,
  type Policy,
  type Reach,
  type ScopeName,
} from '../../engine/index.js';
import { createKey } from '../../server/auth/api-keys.js';
import { readPolicyFolder } from '../support/policy-folder.js';
import { readLines } from '../../server/cli/files.js';
import { type Gateway, startGateway } from '../../server/compose.js';
import { migrate } from '../../server/db/migrate.js';
import { loadDataset } from '../../server/load/load-dataset.js';
import { LOAD_LIMITS } from '../../server/limits/records.js';
import { call, type Reply } from '../support/gateway.js';
import { hasRealInput, REAL_RECORDS, realPolicyFolder } from '../support/real-input.js';
import { type OpenedStore, testStores } from '../support/stores.js';
import { times } from '../support/test-runs.js';

const PEOPLE = 10;
/** Asked of everybody, beside what each person holds something at: the root, two levels, and a namespace that does not exist. */
const CONTEXTS = ['/', '/keps', '/keps/sig-none'];
const REACHES: readonly Reach[] = ['lineage', 'exact', 'subtree'];
const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };

interface StoredRecord {
  readonly id: string;
  readonly family: Family;
  readonly namespace: NamespacePath;
}

/** One of them, PostgreSQL where there is one, which is quicker; both in `make test-deep`. */
const stores = testStores().slice(-times({ usual: 1, deep: 2 }));

(hasRealInput ? describe : describe.skip).each(stores)('the real policy on its real records, $name', (store) => {
  let opened: OpenedStore;
  let gateway: Gateway;
  let policy: Policy;
  let set: PolicySet;
  let records: readonly StoredRecord[];

  beforeAll(async () => {
    const read = await readPolicyFolder(await realPolicyFolder());
    const result = readPolicy(read.files);
    expect(result.diagnostics).toEqual([]);
    if (result.policy === null) throw new Error('the policy is refused');
    set = result.policy;
    const compiled = compilePolicy(set);
    if (!compiled.ok) throw new Error('the policy does not compile');
    const loaded = loadSnapshot(compiled.snapshot.bytes);
    if (!loaded.ok) throw new Error(loaded.fault.message);
    policy = loaded.policy;
    opened = await store.open();
    await migrate(opened.database);
    const lines = readLines(createReadStream(REAL_RECORDS), LOAD_LIMITS.lineBytes);
    const report = await loadDataset(opened.database, lines, { onConflict: 'report', now: instantOf(0) });
    expect(report.faults).toEqual([]);
    gateway = await startGateway({
      mode: { kind: 'serve', policy },
      db: opened.database,
      listen: { host: '127.0.0.1', port: 0 },
      rate: { perActor: 0, perAddress: 0, unauthenticated: 0 },
      concurrency: { perActor: 4 },
      log: silent,
    });
    records = await everyRecord(opened);
  });

  afterAll(async () => {
    await gateway.close();
    await opened.dispose();
  });

  it('is the policy and the dataset that its README describes', () => {
    expect([set.grants.length, set.roles.length]).toEqual([155, 47]);
    expect(records.filter(({ family }) => family === 'resource')).toHaveLength(679);
    expect(records.filter(({ family }) => family === 'namespace').length).toBeGreaterThan(700);
  });

  it('pages through exactly what is allowed record by record', async () => {
    const people = tenPeople(set);
    expect(people).toHaveLength(PEOPLE);
    const existing = new Set<string>(
      records.flatMap(({ family, namespace }) => (family === 'namespace' ? [namespace] : [])),
    );
    const seen = { some: 0, none: 0, missing: 0, items: 0 };
    for (const person of people) {
      const key = await keyOf(opened, person);
      const contexts = contextsOf(policy, { set, person, records });
      for (const family of FAMILIES) {
        for (const reach of REACHES) {
          for (const context of contexts) {
            const expected = allowed(policy, { records, person, family, reach, context: pathOf(context) });
            const got = await pageThrough(gateway.address.port, key, { family, reach, namespace: context });
            const where = `${formatIdentity(person)} ${family} ${reach} ${context}`;
            if (got.status === 200) {
              expect({ where, ids: got.ids, count: got.count }).toEqual({
                where,
                ids: expected,
                count: expected.length,
              });
              seen.some += 1;
              seen.items += expected.length;
            } else {
              // Nothing is visible, or the namespace is missing and this person may know.
              expect({ where, ids: got.status === 403 ? expected : [] }).toEqual({ where, ids: [] });
              expect([403, 404]).toContain(got.status);
              if (got.status === 404) expect([where, existing.has(context)]).toEqual([where, false]);
              seen[got.status === 403 ? 'none' : 'missing'] += 1;
            }
          }
        }
      }
    }
    // Neither all nor nothing: a comparison of empty answers would prove nothing.
    expect(seen.some).toBeGreaterThan(150);
    expect(seen.none).toBeGreaterThan(100);
    expect(seen.missing).toBeGreaterThan(5);
    expect(seen.items).toBeGreaterThan(2_000);
  });
});

/** People of different standing: members of roles and holders of grants, spread over the policy. */
function tenPeople({ roles, grants }: PolicySet): readonly Identity[] {
  const found = new Map<string, Identity>();
  for (const role of roles) {
    for (const member of role.members)
      if (member.kind === 'identity') found.set(formatIdentity(member.identity), member.identity);
  }
  for (const { principal } of grants) {
    if (principal.kind === 'identity') found.set(formatIdentity(principal.identity), principal.identity);
  }
  const all = [...found.values()];
  // One who holds something at the root, so that somebody may know of every namespace; the others from all over the list.
  const atRoot = grants.find(({ namespace }) => namespace === '/')?.principal;
  const top = roles.find(({ name }) => atRoot?.kind === 'role' && name === atRoot.role)?.members[0];
  const first = top?.kind === 'identity' ? [top.identity] : [];
  const spread = Array.from(
    { length: PEOPLE - first.length },
    (_, i) => all[Math.floor((i * all.length) / PEOPLE)] as Identity,
  );
  return [...first, ...spread];
}

/** The shared contexts, two namespaces where the person may read, and one below each that holds records. */
function contextsOf(
  policy: Policy,
  {
    set,
    person,
    records,
  }: { readonly set: PolicySet; readonly person: Identity; readonly records: readonly StoredRecord[] },
): readonly string[] {
  const actor = {
    kind: 'request',
    identities: [person],
    credentialScopes: ALL_SCOPES,
    namespaceRestrictions: null,
  } as const;
  const own = [...new Set(set.grants.map(({ namespace }) => namespace))].filter((namespace) => {
    const request = { kind: 'access', scope: 'resource:read', context: namespace, target: namespace } as const;
    return decide(policy, { actor, request, at: instantOf(Date.now()) }).decision === 'allow';
  });
  const some = own.slice(0, 1).concat(own.slice(-1));
  const below = some.flatMap((namespace) =>
    records.filter((record) => record.namespace !== namespace && isWithin(record.namespace, namespace)).slice(-1),
  );
  return [...new Set<string>([...CONTEXTS, ...some, ...below.map(({ namespace }) => namespace)])];
}

interface Question {
  readonly records: readonly StoredRecord[];
  readonly person: Identity;
  readonly family: Family;
  readonly reach: Reach;
  readonly context: NamespacePath;
}

/** The oracle: `decide` on every record of the reach, one by one. Below the context the relation is the reach itself. */
function allowed(policy: Policy, { records, person, family, reach, context }: Question): readonly string[] {
  const scope: ScopeName = `${family}:read`;
  const actor = {
    kind: 'request',
    identities: [person],
    credentialScopes: ALL_SCOPES,
    namespaceRestrictions: null,
  } as const;
  return records
    .filter((record) => record.family === family)
    .filter(({ namespace }) =>
      reach === 'exact'
        ? namespace === context
        : reach === 'lineage'
          ? isWithin(context, namespace)
          : isWithin(namespace, context),
    )
    .filter(({ namespace }) => {
      const from = reach === 'subtree' ? namespace : context;
      const request = { kind: 'access', scope, context: from, target: namespace } as const;
      return decide(policy, { actor, request, at: instantOf(Date.now()) }).decision === 'allow';
    })
    .map(({ id }) => id)
    .sort();
}

async function pageThrough(
  port: number,
  key: string,
  envelope: Readonly<Record<string, unknown>>,
): Promise<{ readonly status: number; readonly ids: readonly string[]; readonly count: unknown }> {
  const counted = await call(port, { path: '/api/v1/query/count', body: envelope, key });
  const ids: string[] = [];
  let after: string | null = null;
  do {
    const reply: Reply = await call(port, { body: { ...envelope, select: ['id'], page: { size: 200, after } }, key });
    if (reply.status !== 200) {
      expect(reply.status).toBe(counted.status);
      return { status: reply.status, ids: [], count: null };
    }
    const body = reply.json as unknown as { items: { id: string }[]; page: { next: string | null } };
    ids.push(...body.items.map(({ id }) => id));
    after = body.page.next;
  } while (after !== null);
  return { status: 200, ids: ids.sort(), count: counted.json?.['count'] };
}

async function everyRecord({ database }: OpenedStore): Promise<readonly StoredRecord[]> {
  const { rows } = await database.knex.raw<{ rows: { id: string; family: number; path: string }[] }>(
    'SELECT id, family, path FROM records WHERE id IS NOT NULL AND revision > ?',
    [0],
  );
  return rows.map(({ id, family, path }) => ({ id, family: FAMILIES[family] as Family, namespace: pathOf(path) }));
}

async function keyOf({ database }: OpenedStore, person: Identity): Promise<string> {
  const fields = {
    actor: formatIdentity(person),
    identities: [person],
    scopes: null,
    restrictions: null,
    expires: null,
    admin: false,
  };
  return (await createKey(database, fields, instantOf(Date.now()))).text;
}

function pathOf(text: string): NamespacePath {
  const result = canonicalize(text);
  if (!result.ok) throw new Error(text);
  return result.path;
}
