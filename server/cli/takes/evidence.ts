// What `evidence` takes.
import { formats } from '../options.js';
import { required, takes } from '../verb.js';

export const EVIDENCE = takes({
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
