// A keyring file: YAML or JSON, read as strictly as policy files, every fault with its place.
import { decodeKeyring, type Keyring, STATEMENT_LIMITS } from '../../engine/index.js';
import { SigningError } from './signing-error.js';
import { type NamedFile, readNamedFile } from './named-file.js';

/** Throws `SigningError`. */
export async function readKeyring(file: NamedFile): Promise<Keyring> {
  const { bytes } = await readNamedFile(file, STATEMENT_LIMITS.keyringBytes);
  const { readYaml } = await import('../../engine/yaml.js');
  const document = readYaml({ path: file.shown, bytes });
  const faults = document.diagnostics.map(({ range, message }) => ({ at: range.start, message }));
  if (faults.length === 0) {
    const decoded = decodeKeyring(document.value);
    if (decoded.ok) return decoded.keyring;
    for (const { pointer, part, message } of decoded.faults) {
      faults.push({ at: document.rangeOf(pointer, part).start, message });
    }
  }
  const places = [...faults].sort((a, b) => a.at.line - b.at.line || a.at.column - b.at.column);
  const lines = places.map(({ at, message }) => `${file.shown}:${String(at.line)}:${String(at.column)}: ${message}`);
  const help = 'a keyring has a `threshold` and `keys`, each a `name` and the `publicKey` that `keygen` shows';
  throw new SigningError('keyring.invalid', `the keyring \`${file.shown}\` cannot be used`, { help, faults: lines });
}
