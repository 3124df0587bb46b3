// Ignore comments and the formatter: a comment covers the whole entry it stands at, so `fmt` never changes what lint says.
import { describe, expect, test } from '@jest/globals';
import { formatFile, lintPolicy, readPolicy } from '../../engine/compiler.js';

const POLICY = 'bailiwick: 1\nname: p\nproviders: { orcid: {} }\n';
const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

function codes(text: string): readonly string[] {
  const reading = readPolicy([
    { path: 'a.yaml', bytes: encode(text) },
    { path: 'policy.yaml', bytes: encode(POLICY) },
  ]);
  const { policy, diagnostics } = reading;
  if (policy === null) throw new Error(diagnostics.map(({ message }) => message).join('\n'));
  const found = lintPolicy({ ...reading, policy }, { at: null, soonMilliseconds: 0, levels: new Map() });
  return found.map(({ code }) => code);
}

describe('ignore comments', () => {
  const ROOT = 'bailiwick-ignore LINT_WRITE_AT_ROOT: why';
  const [TWICE, MEMBERS] = ['bailiwick-ignore LINT_MEMBER_REPEATED: why', 'members: [orcid:a, { role: in }]'];
  const GRANT = 'grants:\n  - { id: g, role: out, scopes: [resource:read], namespace: /x }\n';
  const READ = '  - { id: r, identity: orcid:r, scopes: ["*:read"], namespace: / }\n';
  test.each([
    {
      name: 'above an entry whose finding is further down',
      text: `grants:\n${READ}  # ${ROOT}\n  - role: in\n    id: w\n    namespace: /\n    scopes: ["*:write"]\n`,
      found: [],
    },
    {
      name: 'behind brackets of several lines',
      text: `grants:\n${READ}  - {\n      id: w, role: in,\n      scopes: ["*:write"], namespace: / } # ${ROOT}\n`,
      found: [],
    },
    {
      name: 'behind a key whose entry is a block',
      text: `roles:\n  out: # ${TWICE}\n    ${MEMBERS}\n${GRANT}`,
      found: [],
    },
    { name: 'behind an entry in brackets', text: `roles:\n  out: { ${MEMBERS} } # ${TWICE}\n${GRANT}`, found: [] },
    {
      name: 'above another entry, not this one',
      text: `grants:\n${READ}  - id: w\n    role: in\n    # ${ROOT}\n    scopes: ["*:write"]\n    namespace: /\n`,
      found: ['LINT_IGNORE_UNUSED', 'LINT_WRITE_AT_ROOT'],
    },
  ])('cover the whole entry, formatted or not: $name', ({ text, found }) => {
    const whole = `roles:\n  in: { members: [orcid:a] }\n${text.replace(/^roles:\n/, '')}`;
    const formatted = formatFile({ path: 'a.yaml', bytes: encode(whole) });
    expect([...codes(whole)].sort()).toEqual(found);
    expect([...codes(formatted.ok ? formatted.text : '')].sort()).toEqual(found);
    expect(formatted).toMatchObject({ ok: true });
    // Without the comment there is something to ignore.
    expect(codes(whole.replace(/# bailiwick.*/, '')).join()).toMatch(/LINT_WRITE_AT_ROOT|LINT_MEMBER_REPEATED/);
  });
});
