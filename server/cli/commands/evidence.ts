// `bailiwick evidence <digest> -o <file>`: one ZIP file with all that an auditor keeps of a snapshot (docs/evidence.md).
import type { Command } from 'commander';
import type { EvidenceFlags } from '../evidence-log.js';
import { EXIT } from '../exit.js';
import type { CliIo } from '../io.js';
import { formatOption, requiredOption, withExamples, withJson, withSettings } from '../options.js';

export function defineEvidence(command: Command, io: CliIo): void {
  command
    .argument('<snapshot>', 'digest of a snapshot that the log keeps, or a snapshot file')
    .addOption(requiredOption('-o, --output <file>', 'the ZIP file'))
    .option('--log <folder>', 'folder of the audit log (default: the one of the settings)')
    .option('--archive <folder>', 'folder that older files of the log were moved to')
    .option('--statement <file>', 'publication statement (default: `<snapshot>.dsse.json` beside a snapshot file)')
    .option('--statement-keyring <file>', 'trusted public keys for the statement')
    .option('--attestation <file>', 'attestation of `bailiwick attest`')
    .option('--attestation-keyring <file>', 'trusted public keys for the attestation (default: --statement-keyring)')
    .option('--base <policy>', 'policy to compare with (default: the snapshot that was in force before)')
    .option('--checkpoint <file>', 'checkpoint that was kept, for the proofs of events (default: a new one)')
    .option('--public-key <file>', 'public key of --checkpoint')
    .option('--key <file>', 'private key for a new checkpoint (default: `audit.signingKey` of the settings)')
    .addOption(formatOption())
    .action(async (snapshot: string, options: EvidenceFlags) => {
      await (await import('../evidence.js')).evidenceCommand(io, snapshot, options);
    });
  withSettings(command, ['config', 'dataDir']);
  withExamples(command, [
    [
      'of a snapshot that was in force, for an auditor',
      'bailiwick evidence sha256:3f1c… --statement snapshot.json.dsse.json --statement-keyring keyring.yaml --attestation policy.svr.json --attestation-keyring ci-keyring.yaml -o evidence.zip',
    ],
    ['to check it without bailiwick', 'unzip evidence.zip -d evidence && cd evidence && python3 check.py'],
  ]);
  withJson(command, [
    '{"ok","file","snapshot","files":[{"name","sha256"}],"activations","missing":[text]};',
    `ends with ${String(EXIT.precondition)} if something is missing; the file is still written, and lists what is missing.`,
  ]);
}
