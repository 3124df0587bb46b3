// What users of other tools type, and our verb for it.

export const PEER_VERBS: ReadonlyMap<string, string> = new Map([
  ['lint', 'check'],
  ['validate', 'check'],
  ['plan', 'diff'],
  ['preview', 'diff'],
  ['apply', 'publish'],
  ['push', 'publish'],
  ['deploy', 'publish'],
  ['build', 'compile'],
  ['eval', 'decide'],
  ['authorize', 'decide'],
  ['simulate', 'explain'],
  ['trace', 'explain'],
  ['why', 'explain'],
  ['format', 'fmt'],
  ['run', 'serve'],
  ['start', 'serve'],
  ['server', 'serve'],
  ['new', 'init'],
]);
