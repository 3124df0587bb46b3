// `bailiwick unused <policy>`: the rights that no decision in the audit log needed, and a smaller policy without them.
import { EXIT } from '../exit.js';
import { formats } from '../options.js';
import { repeated, takes, verb } from '../verb.js';

const TAKES = takes({
  '<policy>': 'policy folder, or `<revision>:<folder>` in git',
  '--log <folder>': 'folder of the audit log (default: the one of the settings)',
  '--since <when>': {
    about: 'look at decisions from this instant on, or within this duration before the end, such as 90d',
    usual: '90d',
  },
  '--until <instant>': 'look at decisions before this instant (default: now)',
  '--keep <grant>': repeated('grant to keep, with its members, even if it was not needed; may be repeated'),
  '-o, --output <folder>': 'write the files of the smaller policy to this new folder',
  '--exit-code': `end with ${String(EXIT.differences)} if anything can be left out`,
  ...formats(),
});

export const defineUnused = verb(
  TAKES,
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
