// `bailiwick prove <policy>`: a proof that one identity holds a scope, or does not, that needs no policy to be checked.
import { readIdentity, readNamespace, requireScope } from '../actor.js';
import { writeWhole } from '../files.js';
import { type Answer, type CliIo, pathOf, pathsOf, write } from '../io.js';
import { openPolicy } from '../open-policy.js';
import { formats, instantOption } from '../options.js';
import { type Given, required, takes, verb } from '../verb.js';

const TAKES = takes({
  '<policy>': 'policy folder, snapshot file, or `<revision>:<path>` in git',
  '--identity <identity>': required('identity that the proof is about, as `provider:subject`'),
  '--scope <scope>': required('scope that the proof is about, such as `resource:read`'),
  '--namespace <path>': required('namespace that the proof is about: any path, whether or not a grant names it'),
  '--at <instant>': 'time that the proof is about, as RFC 3339 (default: now)',
  '-o, --output <file>': 'file for the proof (default: stdout)',
  ...formats(),
});

export const defineProve = verb(TAKES, prove, {
  examples: {
    'for somebody who has only the access root':
      'bailiwick prove snapshot.json --identity orcid:0000-0001 --scope resource:read --namespace /beamlines/amx -o ann.proof',
    'what they run': 'bailiwick check-proof ann.proof --root sha256:…',
  },
  json: [
    '{"root","size","identity","scope","namespace","at","holds","proof":{…}}, which is the proof (docs/proofs.md).',
    '`holds` is false for a proof that the identity does not hold the scope.',
  ],
});

async function prove(io: CliIo, { policy: path, output, ...options }: Given<typeof TAKES>): Promise<Answer> {
  const [{ proveAccess }, { noteOnPlace, notesOn, renderAccessProof }] = await Promise.all([
    import('../../signing/access-proof.js'),
    import('../render/answers.js'),
  ]);
  const asked = {
    identity: readIdentity(options.identity),
    namespace: readNamespace(options.namespace),
    at: instantOption(options.at),
  };
  const { policy } = await openPolicy(io, path, 'study');
  const question = { ...asked, scope: requireScope(policy, options.scope) };
  const proof = proveAccess(policy, question);
  const text = `${JSON.stringify(proof)}\n`;
  await write(io.stderr, notesOn(policy, [question.identity]) + noteOnPlace(policy, question.namespace));
  if (output !== undefined)
    await writeWhole(pathOf(io, output), Buffer.from(text), { shown: output, inputs: pathsOf(io, [path]) });
  return { json: () => proof, text: () => (output === undefined ? text : renderAccessProof(proof)) };
}
