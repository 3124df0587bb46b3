// A gateway that follows its policy: what changes at the path is verified whole and takes its place, and nothing else ever does. Rows of
// published attacks on update systems (The Update Framework: arbitrary software, rollback, freeze, mix and match, endless data, key
// compromise) are named in the tests.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { compilePolicy } from '../../../engine/compiler.js';
import {
  type Instant,
  instantOf,
  loadSnapshot,
  type Policy,
  type PublicationStatement,
  scopeSetOf,
} from '../../../engine/index.js';
import { encodeEnvelope } from '../../../engine/statement/envelope.js';
import { formatPublicKey } from '../../../engine/index.js';
import { type Database, openDatabase } from '../../../server/db/database.js';
import { type ActivePolicy, makeActivePolicy } from '../../../server/policy/active-policy.js';
import { type Activations, isRollback, storedActivations } from '../../../server/policy/activations.js';
import { type FollowOptions, followPolicy, stateOf } from '../../../server/policy/follow-policy.js';
import { NO_AGE_LIMITS, stalenessOf } from '../../../server/policy/staleness.js';
import { makeKeyPair, openPrivatePem, type SigningKey } from '../../../server/signing/ed25519.js';
import { signOnce } from '../../../server/signing/sign-statement.js';
import type { Watch } from '../../../server/watch.js';
import { pathOf } from '../../support/gateway.js';
import { newDataDir } from '../../support/stores.js';
import { makeFolder } from '../../support/temp-folder.js';

const NOON = Date.parse('2027-01-01T12:00:00Z');
const HOUR = 3_600_000;
/** Longer than any test: only `hurry` looks. */
const NEVER = 3_600_000;

interface Made {
  readonly bytes: Uint8Array;
  readonly policy: Policy;
}

function make(namespace: string, name = 'followed'): Made {
  const compiled = compilePolicy({
    name,
    providers: [{ name: 'orcid', description: null }],
    roles: [],
    grants: [
      {
        id: 'only',
        principal: { kind: 'identity', identity: { provider: 'orcid', subject: 'ada' } },
        namespace: pathOf(namespace),
        scopes: scopeSetOf(['resource:read']),
        inherit: true,
        notBefore: null,
        expires: null,
        reason: null,
        place: null,
      },
    ],
    tests: [],
    people: [],
    guardrails: [],
  });
  if (!compiled.ok) throw new Error('the policy does not compile');
  const loaded = loadSnapshot(compiled.snapshot.bytes);
  if (!loaded.ok) throw new Error(loaded.fault.code);
  return { bytes: compiled.snapshot.bytes, policy: loaded.policy };
}

const [A, B, C] = [make('/a'), make('/b'), make('/c')];

interface Line {
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

interface Followed {
  readonly policies: ActivePolicy;
  readonly watch: Watch;
  readonly path: string;
  readonly lines: readonly Line[];
  readonly put: (bytes: Uint8Array | string) => void;
  readonly advance: (milliseconds: number) => void;
  /** Looks now, and says which digest is in force and why something else is not. */
  readonly look: () => Promise<readonly [digest: string, refused: string | null]>;
}

let db: Database;
let activations: Activations;
beforeAll(async () => {
  db = await openDatabase({ kind: 'embedded', dataDir: await newDataDir() });
  activations = storedActivations(db);
});
beforeEach(() => db.knex('activations').del());
afterAll(() => db.close());

const watches: Watch[] = [];
afterEach(() => {
  for (const { stop } of watches.splice(0)) stop();
});

async function follow(
  options: Partial<Pick<FollowOptions, 'rule' | 'ages' | 'interval'>> & {
    readonly statement?: PublicationStatement;
    readonly folder?: string;
  } = {},
): Promise<Followed> {
  const folder = options.folder ?? (await makeFolder());
  const path = join(folder, 'snapshot.json');
  const put = (bytes: Uint8Array | string): void => {
    writeFileSync(`${path}.new`, bytes);
    renameSync(`${path}.new`, path);
  };
  put(A.bytes);
  let now = NOON;
  const lines: Line[] = [];
  const line = (fields: Readonly<Record<string, unknown>>, message: string): void =>
    void lines.push({ fields, message });
  const log = { info: line, warn: line, error: line };
  const clock = { now: (): Instant => instantOf(now) };
  const candidate = {
    policy: A.policy,
    source: { kind: 'file', path },
    ...(options.statement && { statement: options.statement }),
  } as const;
  const policies = makeActivePolicy(candidate, { clock, log });
  await activations.record({
    policy: A.policy,
    statement: options.statement ?? null,
    reason: 'start',
    at: clock.now(),
  });
  const { rule = null, ages = NO_AGE_LIMITS, interval = NEVER } = options;
  const watch = followPolicy({
    path,
    state: await stateOf(path),
    rule,
    policies,
    activations,
    ages,
    clock,
    log,
    interval,
  });
  watches.push(watch);
  return {
    policies,
    watch,
    path,
    lines,
    put,
    advance: (milliseconds) => {
      now += milliseconds;
    },
    look: async () => {
      await watch.hurry();
      return [policies.current().policy.digest, policies.state().refusal?.code ?? null];
    },
  };
}

describe('a snapshot file that is followed', () => {
  it('takes the place of the one in force when it changes, for all who pin after that', async () => {
    const { policies, put, look, lines } = await follow();
    const pinned = policies.current();
    expect(await look()).toEqual([A.policy.digest, null]);
    put(B.bytes);
    expect(await look()).toEqual([B.policy.digest, null]);
    expect(policies.current().generation).toBe(2);
    expect(pinned.policy.digest).toBe(A.policy.digest);
    expect(lines.map(({ message }) => message)).toEqual(['the policy was replaced']);
  });

  it('is not taken while somebody still writes, and is at the second look that finds it the same', async () => {
    const { policies, path, put } = await follow({ interval: 40 });
    put(B.bytes);
    const writing = setInterval(() => {
      writeFileSync(`${path}.dsse.json`, String(Math.random()));
    }, 5);
    await sleep(400);
    expect(policies.current().policy.digest).toBe(A.policy.digest);
    clearInterval(writing);
    for (let waited = 0; policies.current().policy.digest !== B.policy.digest && waited < 5_000; waited += 20)
      await sleep(20);
    expect(policies.current().policy.digest).toBe(B.policy.digest);
  });

  it('stays out where it is damaged, gone, too large or no file, says why, and comes in when it is mended', async () => {
    const { policies, path, put, look, lines } = await follow();
    const damaged = Buffer.from(B.bytes);
    damaged[100] = (damaged[100] ?? 0) ^ 1;
    put(damaged);
    expect(await look()).toEqual([A.policy.digest, 'snapshot.seal']);
    put(B.bytes.subarray(0, 400));
    expect((await look())[0]).toBe(A.policy.digest);
    put('');
    expect((await look())[0]).toBe(A.policy.digest);
    rmSync(path);
    expect(await look()).toEqual([A.policy.digest, 'source.missing']);
    execFileSync('mkfifo', [path]);
    expect(await look()).toEqual([A.policy.digest, 'source.unreadable']);
    put('');
    truncateSync(path, 5 * 1024 ** 3);
    expect(await look()).toEqual([A.policy.digest, 'snapshot.too_large']);
    expect(policies.current().generation).toBe(1);
    expect(lines.every(({ fields }) => fields['snapshot'] === A.policy.digest && fields['path'] === path)).toBe(true);
    put(B.bytes);
    expect(await look()).toEqual([B.policy.digest, null]);
  });

  it('is always one that was written whole, however it is written over in place', async () => {
    const { policies, path, watch } = await follow();
    const whole = new Set([A, B, C].map(({ policy }) => policy.digest));
    const versions = [A.bytes, B.bytes, C.bytes];
    let written = 0;
    const writing = setInterval(() => {
      const bytes = versions[(written += 1) % versions.length] ?? A.bytes;
      writeFileSync(path, bytes.subarray(0, bytes.length / 2));
      writeFileSync(path, bytes.subarray(bytes.length / 2), { flag: 'a' });
    }, 1);
    for (let round = 0; round < 8; round += 1) {
      await watch.hurry();
      expect(whole).toContain(policies.current().policy.digest);
    }
    clearInterval(writing);
    writeFileSync(path, C.bytes);
    await watch.hurry();
    expect(policies.current().policy.digest).toBe(C.policy.digest);
  });

  it('is looked at by one at a time, whoever hurries', async () => {
    const { policies, put, watch } = await follow();
    put(B.bytes);
    const looks = Array.from({ length: 6 }, () => watch.hurry());
    put(C.bytes);
    await Promise.all(looks);
    expect(policies.current().policy.digest).toBe(C.policy.digest);
    expect(policies.current().generation).toBeLessThanOrEqual(3);
  });
});

describe('a policy folder that is followed', () => {
  const HEADER = 'bailiwick: 1\nname: followed\nproviders:\n  orcid: {}\n';
  const grant = (namespace: string): string =>
    `grants:\n  - id: ada\n    identity: orcid:ada\n    scopes: [resource:read]\n    namespace: ${namespace}\n`;

  it('is checked, compiled and tested first; what is wrong is told with its place, and the one in force stays', async () => {
    const folder = await makeFolder({ 'policy.yaml': HEADER, 'grants.yaml': grant('/a') });
    const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
    const clock = { now: (): Instant => instantOf(NOON) };
    const policies = makeActivePolicy({ policy: A.policy }, { clock, log });
    await activations.record({ policy: A.policy, statement: null, reason: 'start', at: clock.now() });
    const state = await stateOf(folder);
    const watch = followPolicy({
      path: folder,
      state,
      rule: null,
      policies,
      activations,
      ages: NO_AGE_LIMITS,
      clock,
      log,
      interval: NEVER,
    });
    watches.push(watch);
    await watch.hurry();
    const first = policies.current();
    expect(first).toMatchObject({ generation: 2, labels: 'verified', source: { kind: 'folder', path: folder } });

    writeFileSync(join(folder, 'grants.yaml'), grant('/a').replace('resource:read', 'resource:raed'));
    expect(await stateOf(folder)).not.toBe(state);
    await watch.hurry();
    expect(policies.state().refusal).toMatchObject({
      code: 'policy.invalid',
      problems: [expect.stringMatching(/^grants\.yaml:4:14: .*resource:raed/)],
    });
    const failing =
      'tests:\n  - name: nobody reads\n    actor: { identities: ["orcid:ada"] }\n    deny: [resource:read /a]\n';
    writeFileSync(join(folder, 'grants.yaml'), grant('/a') + failing);
    await watch.hurry();
    expect(policies.state().refusal).toMatchObject({
      code: 'policy.tests_failed',
      problems: [expect.stringContaining('the test `nobody reads` fails')],
    });
    const violated = 'guardrails:\n  - id: never-read\n    never: { scopes: ["resource:read"], under: / }\n';
    writeFileSync(join(folder, 'grants.yaml'), grant('/a') + violated);
    await watch.hurry();
    expect(policies.state().refusal).toMatchObject({ code: 'policy.guardrail_violated' });
    expect(policies.current()).toBe(first);

    writeFileSync(join(folder, 'grants.yaml'), grant('/b'));
    await watch.hurry();
    expect(policies.state()).toMatchObject({ refusal: null, active: { generation: 3 } });
  });
});

describe('a snapshot that must be published', () => {
  const pair = makeKeyPair();
  const other = makeKeyPair();
  const keyOf = ({ privatePem }: { readonly privatePem: string }): SigningKey => {
    const key = openPrivatePem(privatePem);
    if (key === null) throw new Error('no key');
    return key;
  };

  function statementOf(of: Made, fields: Partial<PublicationStatement> = {}): PublicationStatement {
    return {
      snapshot: of.policy.digest,
      policy: of.policy.name,
      environment: 'production',
      generation: 7,
      issued: instantOf(NOON - HOUR),
      expires: instantOf(NOON + 24 * HOUR),
      ...fields,
    };
  }

  async function published(
    ages = NO_AGE_LIMITS,
  ): Promise<
    Followed & { readonly sign: (statement: PublicationStatement, by?: typeof pair) => void; readonly keyring: string }
  > {
    const folder = await makeFolder();
    const keyring = join(folder, 'keyring.yaml');
    writeFileSync(keyring, keyringOf(pair.publicKey));
    const rule = { keyring: { path: keyring, shown: keyring }, environment: 'production' };
    const followed = await follow({ folder, rule, ages, statement: statementOf(A) });
    const sign = (statement: PublicationStatement, by = pair): void => {
      const signed = signOnce(keyOf(by), statement, null);
      if (signed === null) throw new Error('not signed');
      writeFileSync(`${followed.path}.dsse.json`, encodeEnvelope(signed.envelope));
    };
    sign(statementOf(A));
    return { ...followed, sign, keyring };
  }

  const keyringOf = (publicKey: Uint8Array): string =>
    `threshold: 1\nkeys:\n  - name: release\n    publicKey: ${formatPublicKey(publicKey)}\n`;

  it('is taken with a statement of a later generation', async () => {
    const { look, put, sign, policies } = await published();
    expect(await look()).toEqual([A.policy.digest, null]);
    put(B.bytes);
    sign(statementOf(B, { generation: 8 }));
    expect(await look()).toEqual([B.policy.digest, null]);
    expect(policies.current().statement).toMatchObject({ generation: 8, environment: 'production' });
  });

  it.each([
    ['arbitrary software: nobody has signed', B, null],
    ['arbitrary software: somebody else has signed', B, { by: other, fields: { generation: 8 } }],
    ['arbitrary software: the signature is that of another snapshot', B, { of: A, fields: { generation: 8 } }],
    ['rollback: an older generation', B, { fields: { generation: 6 } }],
    ['rollback: the same generation for something else', B, { fields: { generation: 7 } }],
    ['replay across environments', B, { fields: { generation: 8, environment: 'staging' } }],
    ['freeze: the statement has expired', B, { fields: { generation: 8, expires: instantOf(NOON - 1) } }],
    ['not yet issued', B, { fields: { generation: 8, issued: instantOf(NOON + HOUR) } }],
    ['mix and match: another policy, rightly signed', make('/b', 'elsewhere'), { fields: { generation: 8 } }],
  ] as const)('is refused: %s', async (_, offer, signing) => {
    const { look, put, sign, path, policies } = await published();
    put(offer.bytes);
    if (signing === null) rmSync(`${path}.dsse.json`);
    else sign(statementOf('of' in signing ? signing.of : offer, signing.fields), 'by' in signing ? signing.by : pair);
    const [digest, refused] = await look();
    expect(digest).toBe(A.policy.digest);
    expect(refused).toEqual(expect.any(String));
    expect(policies.current().generation).toBe(1);
  });

  it('rollback: what was accepted is remembered over a restart', async () => {
    const { look, put, sign } = await published();
    put(B.bytes);
    sign(statementOf(B, { generation: 8 }));
    expect((await look())[0]).toBe(B.policy.digest);
    // A new process that was given the old file, with its old and genuine statement.
    const restarted = await storedActivations(db).accepted(A.policy.name, 'production');
    expect(isRollback(statementOf(A), restarted)).toBe(true);
    expect(isRollback(statementOf(A, { generation: 8 }), restarted)).toBe(true);
    expect(isRollback(statementOf(B, { generation: 8 }), restarted)).toBe(false);
    expect(isRollback(statementOf(A, { generation: 9 }), restarted)).toBe(false);
    expect(await storedActivations(db).accepted(A.policy.name, 'staging')).toBeNull();
  });

  it('is refused as a folder, which nobody can sign', async () => {
    const { look, path, policies } = await published();
    rmSync(path);
    execFileSync('cp', ['-r', 'policies', path]);
    expect(await look()).toEqual([A.policy.digest, 'signature.missing']);
    expect(policies.state().refusal?.message).toContain('folder');
  });

  it('may be published anew, and stays the same handle', async () => {
    const { look, sign, policies } = await published();
    sign(statementOf(A, { generation: 9, expires: instantOf(NOON + 48 * HOUR) }));
    expect(await look()).toEqual([A.policy.digest, null]);
    expect(policies.current()).toMatchObject({ generation: 2, policy: A.policy, statement: { generation: 9 } });
    expect(policies.current().policy).toBe(A.policy);
  });

  it('key compromise: a key that is taken out of the keyring signs nothing any more', async () => {
    const { look, put, sign, keyring } = await published();
    writeFileSync(keyring, keyringOf(other.publicKey));
    put(B.bytes);
    sign(statementOf(B, { generation: 8 }));
    expect((await look())[0]).toBe(A.policy.digest);
    sign(statementOf(B, { generation: 8 }), other);
    expect(await look()).toEqual([B.policy.digest, null]);
  });

  it('decides nothing any more once its statement has expired, and again when it is published anew', async () => {
    const { look, sign, policies, advance, lines } = await published();
    const stale = (): string => stalenessOf(policies.state(), NO_AGE_LIMITS, instantOf(NOON + 25 * HOUR));
    expect(stale()).toBe('hard');
    advance(25 * HOUR);
    expect((await look())[1]).toBe('statement.expired');
    expect(lines.at(-1)?.message).toContain('nothing is decided');
    sign(statementOf(A, { generation: 8, expires: instantOf(NOON + 72 * HOUR) }));
    expect(await look()).toEqual([A.policy.digest, null]);
    expect(stale()).toBe('no');
  });
});

describe('generations', () => {
  const at = instantOf(NOON);
  const record = (of: Made, reason = 'changed'): Promise<number> =>
    activations.record({ policy: of.policy, statement: null, reason, at });

  it('go on over restarts, of which one that changes nothing is none', async () => {
    expect(await record(A)).toBe(1);
    expect(await record(A, 'start')).toBe(1);
    expect(await record(B)).toBe(2);
    expect(await record(A)).toBe(3);
  });

  it('are those of all gateways on one store, which may be told of a policy at once', async () => {
    await record(A);
    expect(new Set(await Promise.all(Array.from({ length: 12 }, () => record(B))))).toEqual(new Set([2]));
    const mixed = await Promise.all([A, B, C, A, B, C].map((made) => record(made)));
    const rows = await db.knex('activations').select('generation', 'snapshot').orderBy('generation');
    expect(rows.map(({ generation }) => Number(generation))).toEqual(rows.map((_, index) => index + 1));
    expect(Math.max(...mixed)).toBe(rows.length);
  });
});

describe('the age of a policy', () => {
  it('counts from the last time that its source had it: a warning first, and then nothing is decided', async () => {
    const ages = { softAge: HOUR, hardAge: 2 * HOUR };
    const { policies, look, path, advance, put, lines } = await follow({ ages });
    const stale = (after: number): string => stalenessOf(policies.state(), ages, instantOf(NOON + after));
    advance(90 * 60_000);
    expect(await look()).toEqual([A.policy.digest, null]);
    expect(stale(2 * HOUR)).toBe('no');
    rmSync(path);
    advance(HOUR);
    await look();
    expect(stale(150 * 60_000)).toBe('soft');
    advance(HOUR);
    await look();
    expect(stale(210 * 60_000)).toBe('hard');
    put(A.bytes);
    await look();
    expect(stale(210 * 60_000)).toBe('no');
    const told = lines.map(({ message }) => message).filter((message) => !message.includes('not taken'));
    expect(told).toEqual([
      'the policy is older than `snapshot.softAge`',
      'the policy is too old or its statement has expired: nothing is decided by it any more',
      'the policy is fresh again',
    ]);
  });
});
