// The verbs of the command line in their groups.
import type { Command } from 'commander';
import type { CliIo } from './io.js';

type Define = (command: Command, io: CliIo) => void;
type Verb = readonly [name: string, description: string, load: () => Promise<Define>];

/** What `bailiwick --help` lists, in its order. A verb is loaded when the command line names it. */
const GROUPS: readonly (readonly [title: string, verbs: readonly Verb[]])[] = [
  [
    'Author policies:',
    [
      [
        'init',
        'make a new policy folder with a passing test and editor schemas',
        async () => (await import('./commands/init.js')).defineInit,
      ],
      [
        'import',
        'make a policy of the rules of another tool, prove that both decide alike, and list what it cannot say',
        async () => (await import('./commands/import.js')).defineImport,
      ],
      [
        'check',
        'read and lint a policy folder, run its tests and guardrails; write nothing',
        async () => (await import('./commands/check.js')).defineCheck,
      ],
      [
        'compile',
        'check a policy folder and write its snapshot; print both digests',
        async () => (await import('./commands/compile.js')).defineCompile,
      ],
      [
        'fmt',
        'format the files of a policy folder; keeps comments and the order of sections and entries',
        async () => (await import('./commands/fmt.js')).defineFmt,
      ],
      [
        'test',
        'run the tests of a policy folder, and say which grants they cover',
        async () => (await import('./commands/test.js')).defineTest,
      ],
      [
        'lsp',
        'serve editors over stdio: diagnostics, completion, hover, definitions, renaming',
        async () => (await import('./commands/lsp.js')).defineLsp,
      ],
      [
        'codes',
        'explain a diagnostic code, with a wrong and a right example; without one, list all',
        async () => (await import('./commands/codes.js')).defineCodes,
      ],
      [
        'schema',
        'print the JSON Schema of policy.yaml, of any other policy file, of bailiwick.yaml, of a dataset line, or of a query; or the API as OpenAPI',
        async () => (await import('./commands/schema.js')).defineSchema,
      ],
    ],
  ],
  [
    'Ask them:',
    [
      [
        'decide',
        'decide requests, one JSON object a line; answers one a line, in the same order',
        async () => (await import('./commands/decide.js')).defineDecide,
      ],
      [
        'explain',
        'explain one decision: every step, the grants, and each edit that would allow what is denied or deny what is allowed; make one',
        async () => (await import('./commands/explain.js')).defineExplain,
      ],
      [
        'who-can',
        'list every identity that holds a scope in a namespace, with the grants that carry it',
        async () => (await import('./commands/who-can.js')).defineWhoCan,
      ],
      [
        'what-can',
        'list everything that one identity holds: regions of the tree, their scopes, and the grants',
        async () => (await import('./commands/what-can.js')).defineWhatCan,
      ],
      [
        'visible',
        'show what an actor sees: nothing, everything, or exactly which namespaces and subtrees',
        async () => (await import('./commands/visible.js')).defineVisible,
      ],
      [
        'diff',
        'compare two policies: who gains and loses which access, when, and because of which line',
        async () => (await import('./commands/diff.js')).defineDiff,
      ],
      [
        'playground',
        'write a page in which a policy is read, changed and asked in the browser alone',
        async () => (await import('./commands/playground.js')).definePlayground,
      ],
      [
        'calendar',
        'list what changes by itself: who gains and loses what at which instant, and which guardrails break then',
        async () => (await import('./commands/calendar.js')).defineCalendar,
      ],
      [
        'history',
        'list when each right came and went: by which commit, by whom and why',
        async () => (await import('./commands/history.js')).defineHistory,
      ],
      [
        'find',
        'find the commits that compile to a digest',
        async () => (await import('./commands/find.js')).defineFind,
      ],
      [
        'prove',
        'write a proof that one identity holds a scope, or does not, which can be checked without the policy',
        async () => (await import('./commands/prove.js')).defineProve,
      ],
      [
        'check-proof',
        'check a proof of `prove` against the access root that a signed statement names',
        async () => (await import('./commands/check-proof.js')).defineCheckProof,
      ],
      [
        'review',
        'access reviews: freeze who holds what, read keep or revoke, check what has come of it, and sign a report',
        async () => (await import('./commands/review.js')).defineReview,
      ],
      [
        'inspect',
        'show the digests and counts of a snapshot',
        async () => (await import('./commands/inspect.js')).defineInspect,
      ],
    ],
  ],
  [
    'Publish them:',
    [
      [
        'verify',
        'check that a snapshot is intact and, with a keyring, that enough keys have signed it',
        async () => (await import('./commands/verify.js')).defineVerify,
      ],
      [
        'keygen',
        'make an Ed25519 key pair for signing snapshots',
        async () => (await import('./commands/keygen.js')).defineKeygen,
      ],
      [
        'sign',
        'sign a statement about a snapshot: its environment, its generation and when it expires',
        async () => (await import('./commands/sign.js')).defineSign,
      ],
      [
        'attest',
        'check a policy folder and sign what was found: its tests and guardrails, and what differs from an earlier one',
        async () => (await import('./commands/attest.js')).defineAttest,
      ],
      [
        'check-attestation',
        'check who signed an attestation, what it is about, and which properties it states',
        async () => (await import('./commands/check-attestation.js')).defineCheckAttestation,
      ],
      [
        'publish',
        'put a snapshot and its statement where gateways take them from',
        async () => (await import('./commands/publish.js')).definePublish,
      ],
    ],
  ],
  [
    'Use a gateway:',
    [
      [
        'can-i',
        'ask a gateway whether your own credential allows a scope in a namespace',
        async () => (await import('./commands/can-i.js')).defineCanI,
      ],
    ],
  ],
  [
    'Operate a gateway:',
    [
      [
        'serve',
        'answer authorized queries and commands over HTTP, until SIGTERM or SIGINT',
        async () => (await import('./commands/serve.js')).defineServe,
      ],
      [
        'local',
        'serve without policy and keys, on loopback only, to every user of this machine',
        async () => (await import('./commands/serve.js')).defineLocal,
      ],
      [
        'console',
        'open the console of a running gateway in a browser on this machine, for one session',
        async () => (await import('./commands/console.js')).defineConsole,
      ],
      [
        'status',
        'show what a running gateway serves, since when, and whether it is ready',
        async () => (await import('./commands/status.js')).defineStatus,
      ],
      [
        'snapshots',
        'list the snapshots that a running gateway can put in force',
        async () => (await import('./commands/snapshots.js')).defineSnapshots,
      ],
      [
        'activate',
        'put a stored snapshot in force, on every gateway of the store',
        async () => (await import('./commands/snapshots.js')).defineActivate,
      ],
      [
        'rollback',
        'put an earlier snapshot in force again; a source undoes that only by offering another one',
        async () => (await import('./commands/snapshots.js')).defineRollback,
      ],
      [
        'shadow',
        'judge a stored snapshot beside the policy in force: what differs, exactly and in live requests',
        async () => (await import('./commands/shadow.js')).defineShadow,
      ],
      [
        'migrate',
        "bring the store's schema up to this version; safe to run again",
        async () => (await import('./commands/migrate.js')).defineMigrate,
      ],
      [
        'load',
        'load records, one JSON object a line; safe while the gateway runs. If it is interrupted, run it again: it continues where it stopped',
        async () => (await import('./commands/load.js')).defineLoad,
      ],
      [
        'export',
        'write all records as a dataset, one JSON object a line, for a backup or another store. A gateway on the same embedded store waits meanwhile',
        async () => (await import('./commands/export.js')).defineExport,
      ],
      [
        'keys',
        'API keys: create, list, revoke; also while the gateway runs',
        async () => (await import('./commands/keys.js')).defineKeys,
      ],
      [
        'audit',
        'the audit log: verify that it is intact, search it, and move old files away',
        async () => (await import('./commands/audit.js')).defineAudit,
      ],
      [
        'evidence',
        'put all that an auditor keeps of a snapshot into one file: what it was, who signed it, when it was in force',
        async () => (await import('./commands/evidence.js')).defineEvidence,
      ],
      [
        'replay',
        'repeat the decisions of the audit log: on their own snapshots, and on another policy to see which would change',
        async () => (await import('./commands/replay.js')).defineReplay,
      ],
      [
        'policy-at',
        'say which policy was in force at an instant, by the audit log: its snapshot, commit, signers and reason',
        async () => (await import('./commands/policy-at.js')).definePolicyAt,
      ],
      [
        'unused',
        'list the rights that no decision of the audit log needed, and make a smaller policy that changes none of them',
        async () => (await import('./commands/unused.js')).defineUnused,
      ],
      [
        'config',
        'settings: check them, or print an example file',
        async () => (await import('./commands/config.js')).defineConfig,
      ],
    ],
  ],
  [
    'This program:',
    [
      [
        'version',
        'print the version of bailiwick, Node and the platform',
        async () => (await import('./commands/version.js')).defineVersion,
      ],
      [
        'completion',
        'print the completion script for a shell',
        async () => (await import('./commands/completion.js')).defineCompletion,
      ],
    ],
  ],
];

export function verbGroups(): typeof GROUPS {
  return GROUPS;
}
