// What `audit checkpoint`, `prove` and `check-proof` take.
import { FOLDER } from '../audit-log.js';
import { formats } from '../options.js';
import { required, takes } from '../verb.js';

const LOG = takes({
  '--key <file>': 'private key of `keygen` (default: `audit.signingKey` of the settings)',
  '--log <log>': 'which log, if the folder has several',
  '--archive <folder>': 'where older files were moved to',
  '-o, --output <file>': 'file to write (default: stdout)',
});

export const CHECKPOINT = takes({ '[folder]': FOLDER, ...LOG, ...formats() });

export const PROVE = takes({
  '<seq>': 'number of the event',
  '[folder]': FOLDER,
  ...LOG,
  '--checkpoint <file>': 'checkpoint that was signed before (default: a new one)',
  ...formats(),
});

export const CHECK_PROOF = takes({
  '<file>': 'the proof',
  '--public-key <file>': required('public key of the log, as `keygen` wrote it with `.pub`'),
  ...formats(),
});
