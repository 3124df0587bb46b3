// `bailiwick who-can <policy> <scope> <namespace>`: everyone who holds a scope there, complete.
import { formatInstant } from '../../../engine/index.js';
import { personsOf, readNamespace, requireScope } from '../actor.js';
import type { Answer, CliIo } from '../io.js';
import { noteOnTime, openPolicy, openToAsk } from '../open-policy.js';
import { formats, instantOption } from '../options.js';
import { paintFor } from '../render/terminal.js';
import { type Given, takes, verb } from '../verb.js';

const TAKES = takes({
  '<policy>': 'policy folder, snapshot file, or `<revision>:<path>` in git',
  '<scope>': 'such as `resource:write`',
  '<namespace>': 'any path, whether or not a grant names it',
  '--at <instant>': 'time to ask about, under this policy, as RFC 3339 (default: now)',
  ...formats(),
});

export const defineWhoCan = verb(TAKES, whoCan, {
  examples: {
    'who may write here': 'bailiwick who-can policies resource:write /beamlines/amx',
    'who will be able to read next year':
      'bailiwick who-can snapshot.json resource:read /proposals --at 2027-06-01T00:00:00Z',
  },
  json: [
    '{"scope","namespace","at","snapshot","identities":[{"identity","person"?,"grants":[GrantRef]}]}',
    '`person` is the owner of the identity, if the policy is a folder that names one under `people`.',
    'GrantRef is {"id","file","line","reason"?}, and for a grant to a role "through": [{"role","description"?,"file",',
    '"line","notBefore"?,"expires"?}], the memberships that lead from the identity to that role, with their windows.',
    'Snapshots before format 3 have no `reason` and no `description`.',
  ],
});

async function whoCan(io: CliIo, { policy: path, at, format, ...asked }: Given<typeof TAKES>): Promise<Answer> {
  const [engine, { noteOnPlace, renderWhoCan }] = await Promise.all([
    import('../../../engine/compiler.js'),
    import('../render/answers.js'),
  ]);
  const place = { namespace: readNamespace(asked.namespace), at: instantOption(at) };
  // Only JSON names the snapshot.
  const open = format === 'json' ? openPolicy : openToAsk;
  const { policy, source, set } = await open(io, path, 'study');
  const request = { scope: requireScope(policy, asked.scope), ...place };
  const persons = set === null ? new Map<string, string>() : personsOf(set);
  const holders = engine
    .whoCan(policy, request)
    .map(({ identity, grants }) => ({ identity, person: persons.get(identity), grants }));
  const { scope, namespace } = request;
  return {
    json: () => ({ scope, namespace, at: formatInstant(request.at), snapshot: policy.digest, identities: holders }),
    notes: () => noteOnPlace(policy, namespace) + noteOnTime(source, { asked: at !== undefined, at: request.at }),
    text: () => renderWhoCan(holders, request, paintFor(io, 'stdout')),
  };
}
