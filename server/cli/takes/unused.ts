// What `unused` takes.
import { EXIT } from '../exit.js';
import { formats } from '../options.js';
import { repeated, takes } from '../verb.js';

export const UNUSED = takes({
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
