// `bailiwick unused <policy>`: the rights that no decision in the audit log needed, and a smaller policy without them.
import { UNUSED } from '../takes/unused.js';
import { verb } from '../verb.js';

export const defineUnused = verb(
  UNUSED,
  async (io, given) => (await import('../find-unused.js')).unusedCommand(io, given),
  {
    settings: ['config', 'dataDir'],
    examples: {
      'what nobody needed in a quarter': 'bailiwick unused policies --since 90d',
      'the smaller policy, as a folder': 'bailiwick unused policies --log audit -o smaller',
      'keep a grant that is for emergencies': 'bailiwick unused policies --keep break-glass',
      'the grants that were never cited': `bailiwick unused policies --format json | jq -r '.unused[] | select(.kind == "grant" and .use == "never_cited") | .grant.id'`,
    },
    json: [
      '{"policy","snapshot","period":{"since","until","first","last"},"unused":[Right],"tooNew":[Right],',
      '"smaller":{"snapshot","decisions","grants","scopes","members","files":[path],"breaks":{"tests":[name],"guardrails":[id]},"diff":as of `diff`},',
      '"proof":{"decisions","changed":0},"log":{"events","decisions","allowed","flips":{"denied","allowed","otherSet"},"told","local","unreadable","malformed","unverified",',
      '"lost","missing","policies":[{"name","decisions"}],"unknownPolicies","silences":[{"log","queries","from","until"}],"begins":[{"log","seq"}]}}',
      'Right: {"kind":"grant"|"scopes"|"member","use":"never_cited"|"not_needed","last","dropped","grant"?:GrantRef,"scopes"?,"role"?,"member"?,"file"?,"line"?,"known"?}',
      '`last`: when a decision last cited it. `known`: since when the log has decisions of a policy with the grant.',
      '`tooNew`: not in force yet, or in no policy of the log, so that no decision could need it; they stay.',
    ],
  },
);
