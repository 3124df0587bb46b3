// What the subcommands of `review` take.
import { formats } from '../options.js';
import { repeated, required, takes } from '../verb.js';

const POLICY = 'policy folder, snapshot file, or `<revision>:<path>` in git';

const NOW = 'the policy now: folder, snapshot file, or `<revision>:<path>` in git';

const FILE = 'file of `bailiwick review start`';

const SHEETS = 'sheet with decisions, a CSV file (default: beside the file); may be repeated';

const CSV = '; csv has one line per row';

export const START = takes({
  '<policy>': POLICY,
  '-o, --output <file>': required('file for the population, such as `q4.json`; the sheet is `q4.csv`'),
  '--under <namespace>': 'only what is held in this namespace and below it',
  '--person <name>': repeated('only what this person of the policy holds; may be repeated'),
  '--identity <identity>': repeated('only what this identity holds, as `provider:subject`; may be repeated'),
  '--scope <scopes>': repeated('only these scopes, or patterns such as `*:write`; may be repeated'),
  '--at <instant>': 'what is held then or later, as RFC 3339 (default: now)',
  '--log <folder>': 'audit log that says when each right was last used',
  '--replace': 'overwrite an existing review',
  ...formats(),
});

export const CHECK = takes({
  '<file>': FILE,
  '<policy>': NOW,
  '--decisions <sheet>': repeated(SHEETS),
  '--at <instant>': 'what is held then or later, as RFC 3339 (default: now)',
  '--no-new-access': 'also exit with 7 if access appeared that is in no row',
  ...formats(['csv'], CSV),
});

export const REPORT = takes({
  '<file>': FILE,
  '<policy>': NOW,
  '--key <file>': required('private key of `bailiwick keygen`, readable by its owner alone'),
  '-o, --output <file>': 'file for the report (default: the file of --add)',
  '--add <report>': 'add a signature to this report, if these files still have the same content',
  '--decisions <sheet>': repeated(SHEETS),
  '--at <instant>':
    'look at what is held then or later, as RFC 3339 (default: now); with --add, the instant of that report counts',
  ...formats(),
});

export const VERIFY = takes({
  '<report>': 'file of `bailiwick review report`',
  '--keyring <file>': required('file with the trusted public keys and how many of them are needed'),
  '--policy <policy>': 'the policy that was reviewed: its rows are worked out again and compared',
  ...formats(['csv'], CSV),
});
