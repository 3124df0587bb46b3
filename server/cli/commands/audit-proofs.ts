// `bailiwick audit checkpoint|prove|check-proof`: signed heads of the log, and proofs of single events (docs/proofs.md).
import { LOG_SETTINGS } from '../audit-log.js';
import { CHECKPOINT, CHECK_PROOF, PROVE } from '../takes/audit-proofs.js';
import { verb } from '../verb.js';

export const auditCheckpoint = verb(
  CHECKPOINT,
  async (io, given) => (await import('../prove-audit.js')).checkpointCommand(io, given),
  {
    description: 'sign the number of events in the log and their hash: keep the result where it cannot be changed',
    settings: LOG_SETTINGS,
    examples: {
      'a checkpoint to keep': 'bailiwick audit checkpoint --key audit.key -o monday.checkpoint',
      'whether the log only grew since':
        'bailiwick audit verify --checkpoint monday.checkpoint --public-key audit.key.pub',
    },
    json: ['{"log", "size", "root", "verifierKey", "checkpoint"}'],
  },
);

export const auditProve = verb(
  PROVE,
  async (io, given) => (await import('../prove-audit.js')).proveCommand(io, given),
  {
    description: 'write a proof that one event is in the log; checking it needs no other event',
    settings: LOG_SETTINGS,
    examples: {
      'event 1204, for an auditor': 'bailiwick audit prove 1204 --key audit.key -o 1204.tlog-proof',
      'in a checkpoint that the auditor has':
        'bailiwick audit prove 1204 --checkpoint monday.checkpoint -o 1204.tlog-proof',
    },
    json: ['{"log", "seq", "size", "proof"}'],
  },
);

export const auditCheckProof = verb(
  CHECK_PROOF,
  async (io, given) => (await import('../prove-audit.js')).checkProofCommand(io, given),
  {
    description: 'check a proof without the log, and print its event; exit with 8 if it proves nothing',
    examples: { 'the event of a proof': 'bailiwick audit check-proof 1204.tlog-proof --public-key audit.key.pub' },
    json: ['{"ok": true, "log", "size", "event"}'],
  },
);
