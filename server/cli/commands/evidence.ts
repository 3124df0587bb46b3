// `bailiwick evidence <digest> -o <file>`: one ZIP file with all that an auditor keeps of a snapshot (docs/evidence.md).
import { EXIT } from '../exit.js';
import { EVIDENCE } from '../takes/evidence.js';
import { verb } from '../verb.js';

export const defineEvidence = verb(
  EVIDENCE,
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
