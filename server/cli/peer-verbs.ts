// What users of other tools type, by our verb for it.
const TYPED: Readonly<Record<string, readonly string[]>> = {
  check: ['lint', 'validate'],
  diff: ['plan', 'preview'],
  calendar: ['schedule', 'expiring', 'upcoming'],
  publish: ['apply', 'push', 'deploy'],
  compile: ['build', 'bundle'],
  decide: ['eval', 'evaluate', 'enforce', 'query', 'repl', 'can', 'authorize'],
  'who-can': ['who'],
  inspect: ['show'],
  explain: ['simulate', 'trace', 'why'],
  fmt: ['format'],
  serve: ['run', 'start', 'server'],
  init: ['new'],
};

export const PEER_VERBS: ReadonlyMap<string, string> = new Map(
  Object.entries(TYPED).flatMap(([ours, theirs]) => theirs.map((one) => [one, ours] as const)),
);
