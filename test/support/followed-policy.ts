// Policies that a gateway follows, with a store that keeps their generations: small snapshots, one file to put them
// into, and a way to see what is in force.
import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Instant, instantOf } from '../../engine/index.js';
import { type Database, openDatabase } from '../../server/db/database.js';
import { type ActivePolicy, makeActivePolicy } from '../../server/policy/active/active-policy.js';
import { storedActivations } from '../../server/policy/store/activations.js';
import { type Activator, makeActivator } from '../../server/policy/active/activator.js';
import { type FollowOptions, followSource } from '../../server/policy/active/follow-source.js';
import { makePathSource } from '../../server/policy/sources/path-source.js';
import { type AgeLimits, NO_AGE_LIMITS } from '../../server/policy/active/staleness.js';
import type { Source } from '../../server/policy/sources/source.js';
import type { SignedStatement } from '../../server/policy/open/verify-publication.js';
import { watchAge } from '../../server/policy/active/staleness.js';
import type { Poller } from '../../server/lib/poller.js';
import { snapshotOf, type TestGrant } from './gateway.js';
import { newDataDir, PATIENT } from './stores.js';
import { makeFolder } from './temp-folder.js';

export const NOON = Date.parse('2027-01-01T12:00:00Z');
export const HOUR = 3_600_000;
/** Longer than any test: only `pollNow` looks. */
export const NEVER = 3_600_000;

export type Made = ReturnType<typeof snapshotOf>;

export function make(namespace: string, name = 'followed'): Made {
  return snapshotOf([[{ provider: 'orcid', subject: 'ada' }, namespace, ['resource:read']]], name);
}

/** So large that its labels are checked on a thread, after it is in force. */
export function makeLarge(top: string): Made {
  const ada = { provider: 'orcid', subject: 'ada' };
  const grants = Array.from({ length: 1_000 }, (_, i): TestGrant => [ada, `${top}/n${String(i)}`, ['resource:read']]);
  return snapshotOf(grants, 'followed');
}

export const [A, B, C] = [make('/a'), make('/b'), make('/c')];

/** The same policies as files. */
export const HEADER = 'bailiwick: 1\nname: followed\nproviders:\n  orcid: {}\n';
export const grantsAt = (namespace: string): string =>
  `grants:\n  - id: ada\n    identity: orcid:ada\n    scopes: [resource:read]\n    namespace: ${namespace}\n`;
export const filesOf = (namespace: string): Readonly<Record<string, string>> => ({
  'policy.yaml': HEADER,
  'grants/all.yaml': grantsAt(namespace),
});

interface Line {
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface Followed {
  readonly policies: ActivePolicy;
  readonly activator: Activator;
  readonly watch: Poller;
  readonly age: Poller;
  readonly path: string;
  readonly lines: readonly Line[];
  readonly put: (bytes: Uint8Array | string) => void;
  readonly advance: (milliseconds: number) => void;
  /** Looks now, and says which digest is in force and why something else is not. */
  readonly look: () => Promise<readonly [digest: string, refused: string | null]>;
}

export let db: Database;
beforeAll(async () => {
  db = await openDatabase({ kind: 'embedded', dataDir: await newDataDir(), ...PATIENT });
});
beforeEach(() => db.knex('activations').del());
afterAll(() => db.close());

export const watches: Poller[] = [];
afterEach(() => Promise.all(watches.splice(0).map(({ stop }) => stop())));

export async function follow(
  options: Partial<Pick<FollowOptions, 'rule' | 'interval' | 'patience'>> & {
    readonly ages?: AgeLimits;
    readonly statement?: SignedStatement;
    readonly folder?: string;
    /** In place of the file. */
    readonly source?: Source;
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
    ...(options.statement && { statement: options.statement.says }),
  } as const;
  const policies = makeActivePolicy(candidate, { clock, log });
  await storedActivations(db).record({
    ...{ kind: 'offered', policy: A.policy, statement: options.statement ?? null, reason: 'start', askedBy: 'test' },
    at: clock.now(),
  } as const);
  const { rule = null, ages = NO_AGE_LIMITS, interval = NEVER } = options;
  const activator = makeActivator({ db, policies, rule, clock, log });
  const watch = followSource({
    source: options.source ?? (await makePathSource(path)),
    rule,
    policies,
    activator,
    clock,
    log,
    interval,
    ...(options.patience === undefined ? {} : { patience: options.patience }),
  });
  const age = watchAge({ policies, ages, clock, log, interval: NEVER });
  watches.push(watch, age);
  return {
    policies,
    activator,
    watch,
    age,
    path,
    lines,
    put,
    advance: (milliseconds) => {
      now += milliseconds;
    },
    look: async () => {
      await watch.pollNow();
      return [policies.current().policy.digest, policies.state().refusal?.code ?? null];
    },
  };
}
