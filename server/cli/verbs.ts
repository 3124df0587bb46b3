// The verbs of the command line in their groups. What a verb does is loaded when the command line names it.
import type { Define } from './verb.js';

const VERBS = {
  init: async () => (await import('./commands/init.js')).defineInit,
  import: async () => (await import('./commands/import.js')).defineImport,
  check: async () => (await import('./commands/check.js')).defineCheck,
  compile: async () => (await import('./commands/compile.js')).defineCompile,
  fmt: async () => (await import('./commands/fmt.js')).defineFmt,
  test: async () => (await import('./commands/test.js')).defineTest,
  lsp: async () => (await import('./commands/lsp.js')).defineLsp,
  codes: async () => (await import('./commands/codes.js')).defineCodes,
  schema: async () => (await import('./commands/schema.js')).defineSchema,
  decide: async () => (await import('./commands/decide.js')).defineDecide,
  explain: async () => (await import('./commands/explain.js')).defineExplain,
  'who-can': async () => (await import('./commands/who-can.js')).defineWhoCan,
  'what-can': async () => (await import('./commands/what-can.js')).defineWhatCan,
  visible: async () => (await import('./commands/visible.js')).defineVisible,
  diff: async () => (await import('./commands/diff.js')).defineDiff,
  playground: async () => (await import('./commands/playground.js')).definePlayground,
  calendar: async () => (await import('./commands/calendar.js')).defineCalendar,
  history: async () => (await import('./commands/history.js')).defineHistory,
  find: async () => (await import('./commands/find.js')).defineFind,
  prove: async () => (await import('./commands/prove.js')).defineProve,
  'check-proof': async () => (await import('./commands/check-proof.js')).defineCheckProof,
  review: async () => (await import('./commands/review.js')).defineReview,
  inspect: async () => (await import('./commands/inspect.js')).defineInspect,
  verify: async () => (await import('./commands/verify.js')).defineVerify,
  keygen: async () => (await import('./commands/keygen.js')).defineKeygen,
  sign: async () => (await import('./commands/sign.js')).defineSign,
  attest: async () => (await import('./commands/attest.js')).defineAttest,
  'check-attestation': async () => (await import('./commands/check-attestation.js')).defineCheckAttestation,
  publish: async () => (await import('./commands/publish.js')).definePublish,
  'can-i': async () => (await import('./commands/can-i.js')).defineCanI,
  serve: async () => (await import('./commands/serve.js')).defineServe,
  local: async () => (await import('./commands/serve.js')).defineLocal,
  console: async () => (await import('./commands/console.js')).defineConsole,
  status: async () => (await import('./commands/status.js')).defineStatus,
  snapshots: async () => (await import('./commands/snapshots.js')).defineSnapshots,
  activate: async () => (await import('./commands/snapshots.js')).defineActivate,
  rollback: async () => (await import('./commands/snapshots.js')).defineRollback,
  shadow: async () => (await import('./commands/shadow.js')).defineShadow,
  migrate: async () => (await import('./commands/migrate.js')).defineMigrate,
  load: async () => (await import('./commands/load.js')).defineLoad,
  export: async () => (await import('./commands/export.js')).defineExport,
  keys: async () => (await import('./commands/keys.js')).defineKeys,
  audit: async () => (await import('./commands/audit.js')).defineAudit,
  evidence: async () => (await import('./commands/evidence.js')).defineEvidence,
  replay: async () => (await import('./commands/replay.js')).defineReplay,
  'policy-at': async () => (await import('./commands/policy-at.js')).definePolicyAt,
  unused: async () => (await import('./commands/unused.js')).defineUnused,
  config: async () => (await import('./commands/config.js')).defineConfig,
  version: async () => (await import('./commands/version.js')).defineVersion,
  completion: async () => (await import('./commands/completion.js')).defineCompletion,
} satisfies Readonly<Record<string, () => Promise<Define>>>;

/** What `bailiwick --help` lists, in its order. */
const GROUPS: readonly (readonly [title: string, verbs: Readonly<Partial<Record<keyof typeof VERBS, string>>>])[] = [
  [
    'Author policies:',
    {
      init: 'make a new policy folder with a passing test and editor schemas',
      import:
        'convert the rules of another tool into a policy, prove that both make the same decisions, and list the rules that were not imported',
      check: 'read and lint a policy folder, run its tests and prove its guardrails; nothing is written',
      compile: 'check a policy folder and write its snapshot; print both digests',
      fmt: 'format the files of a policy folder; keeps comments and the order of sections and entries',
      test: 'run the tests of a policy folder, and show which grants they cover',
      lsp: 'serve editors over stdio: diagnostics, completion, hover, definitions, renaming',
      codes: 'explain a diagnostic code with a wrong and a right example, or list all codes',
      schema:
        'print the JSON Schema of policy.yaml, of any other policy file, of bailiwick.yaml, of a dataset line, or of a query; or the API as OpenAPI',
    },
  ],
  [
    'Query policies:',
    {
      decide: 'decide requests: one JSON object per line in, one answer per line out, in the same order',
      explain:
        'explain one decision: its steps, its grants, and every minimal edit that would reverse it; `--apply` makes one',
      'who-can': 'list every identity that holds a scope in a namespace, with the grants that carry it',
      'what-can': 'list everything that one identity holds: regions of the tree, their scopes, and the grants',
      visible: 'show what an actor sees: nothing, everything, or exactly which namespaces and subtrees',
      diff: 'compare two policies: who gains and loses which access, when, and because of which line',
      playground: 'write a page that shows, edits and queries a policy in the browser, without a server',
      calendar:
        'list the access that changes by itself: who gains or loses what at which instant, and which guardrails break then',
      history: 'list when each right was gained and lost: by which commit, by whom and why',
      find: 'find the commits that compile to a digest',
      prove: 'write a proof that one identity holds a scope, or does not; it can be checked without the policy',
      'check-proof': 'check a proof of `prove` against the access root that a signed statement names',
      review:
        'access reviews: freeze who holds what, collect decisions to keep or revoke, check whether they were carried out, and sign a report',
      inspect: 'show the digests and counts of a snapshot',
    },
  ],
  [
    'Publish policies:',
    {
      verify: 'check that a snapshot is intact and, with a keyring, that enough keys have signed it',
      keygen: 'make an Ed25519 key pair for signing snapshots',
      sign: 'sign a statement about a snapshot: its environment, its generation and when it expires',
      attest:
        'check a policy folder and sign the results: those of its tests and guardrails, and the difference from an earlier one',
      'check-attestation': 'check who signed an attestation, what it is about, and which properties it states',
      publish: 'publish a snapshot and its statement to the gateways, in their store or in a directory',
    },
  ],
  [
    'Use a gateway:',
    {
      'can-i': 'ask a gateway whether your own credential allows a scope in a namespace',
    },
  ],
  [
    'Operate a gateway:',
    {
      serve: 'answer authorized queries and commands over HTTP, until SIGTERM or SIGINT',
      local: 'serve without a policy and without keys, on loopback only, to every user of this machine',
      console: 'open the console of a running gateway in a browser on this machine, for one session',
      status: 'show what a running gateway serves, since when, and whether it is ready',
      snapshots: 'list the snapshots that a running gateway can put in force',
      activate: 'put a stored snapshot in force, on every gateway of the store',
      rollback: 'put an earlier snapshot in force again, until the policy source has another one',
      shadow: 'compare a stored snapshot with the policy in force, exactly and in live requests; it decides nothing',
      migrate: "bring the store's schema up to this version; safe to run again",
      load: 'load records, one JSON object per line; safe while the gateway runs. If it is interrupted, run it again: it continues where it stopped',
      export:
        'write all records as a dataset, one JSON object per line, for a backup or another store. A gateway on the same embedded store waits until it is done',
      keys: 'API keys: create, list, revoke; also while the gateway runs',
      audit: 'the audit log: verify that it is intact, search it, and move old files away',
      evidence:
        'write one file with the evidence about a snapshot for an auditor: what it was, who signed it, when it was in force',
      replay:
        'repeat the decisions of the audit log on their own snapshots, and on another policy to see which would change',
      'policy-at':
        'show which policy was in force at an instant, according to the audit log: its snapshot, commit, signers and reason',
      unused:
        'list the rights that no decision of the audit log needed, and with -o write a smaller policy that changes none of these decisions',
      config: 'settings: check them, or print an example file',
    },
  ],
  [
    'This program:',
    {
      version: 'print the version of bailiwick, Node and the platform',
      completion: 'print the completion script for a shell',
    },
  ],
];

/** Every verb with its group, in the order of the help. */
export const VERB_GROUPS = GROUPS.map(([title, descriptions]) => ({
  title,
  verbs: namesOf(descriptions).map((name) => ({ name, description: descriptions[name] ?? '', load: VERBS[name] })),
}));

function namesOf(descriptions: object): readonly (keyof typeof VERBS)[] {
  const isVerb = (name: string): name is keyof typeof VERBS => name in VERBS;
  return Object.keys(descriptions).filter(isVerb);
}
