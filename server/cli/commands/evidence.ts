// `bailiwick evidence <digest> -o <file>`: one ZIP file with all that an auditor keeps of a snapshot (docs/evidence.md).
import { EXIT } from '../exit.js';
import { formats } from '../options.js';
import { required, takes, verb } from '../verb.js';

const TAKES = takes({
  '<snapshot>': 'digest of a snapshot that the log keeps, or a snapshot file',
  '-o, --output <file>': required('the ZIP file'),
  '--log <folder>': 'folder of the audit log (default: the one of the settings)',
  '--archive <folder>': 'folder that older files of the log were moved to',
  '--statement <file>': 'publication statement (default: `<snapshot>.dsse.json` beside a snapshot file)',
  '--statement-keyring <file>': 'trusted public keys for the statement',
  '--attestation <file>': 'attestation of `bailiwick attest`',
  '--attestation-keyring <file>': 'trusted public keys for the attestation (default: --statement-keyring)',
  '--base <policy>': 'policy to compare with (default: the snapshot that was in force before)',
  '--checkpoint <file>': 'checkpoint that was kept, for the proofs of events (default: a new one)',
  '--public-key <file>': 'public key of --checkpoint',
  '--key <file>': 'private key for a new checkpoint (default: `audit.signingKey` of the settings)',
  ...formats(),
});

export const defineEvidence = verb(
  TAKES,
  async (io, given) => (await import('../evidence.js')).evidenceCommand(io, given),
  {
    settings: ['config', 'dataDir'],
    examples: {
      'of a snapshot that was in force, for an auditor':
        'bailiwick evidence sha256:3f1c… --statement snapshot.json.dsse.json --statement-keyring keyring.yaml --attestation policy.svr.json --attestation-keyring ci-keyring.yaml -o evidence.zip',
      'to check it without bailiwick': 'unzip evidence.zip -d evidence && cd evidence && python3 check.py',
    },
    json: [
      '{"ok","file","snapshot","files":[{"name","sha256"}],"activations","missing":[text]};',
      `ends with ${String(EXIT.precondition)} if something is missing; the file is still written, and lists what is missing.`,
    ],
  },
);
