// Takes `{"snapshot":"…","statement":{…}}` apart into the snapshot's bytes and the statement as it was signed. It runs
// on a thread, because the string may be as long as any snapshot.
import { HTTP_LIMITS } from '../limits/http.js';
import { parseStrictJson } from '../json.js';
import { oneLine, type PolicyFault } from './policy-fault.js';

export type Unwrapped =
  { readonly parts: readonly Uint8Array<ArrayBuffer>[]; readonly statement: string } | { readonly fault: PolicyFault };

export function unwrap(parts: readonly Uint8Array[]): Unwrapped {
  const read = parseStrictJson(Buffer.concat(parts), { depth: HTTP_LIMITS.jsonDepth });
  if (!read.ok) return { fault: oneLine(read.fault.code, `the body is not plain JSON: ${read.fault.message}`) };
  const members = new Map<string, unknown>(
    typeof read.value === 'object' && read.value !== null ? Object.entries(read.value) : [],
  );
  const [snapshot, statement] = [members.get('snapshot'), members.get('statement')];
  if (members.size !== 2 || typeof snapshot !== 'string' || typeof statement !== 'object' || statement === null) {
    const message =
      'beside `snapshot`, the text of the file, there must be `statement`, its signed statement, and nothing else';
    return { fault: oneLine('request.schema', message) };
  }
  return { parts: [new TextEncoder().encode(snapshot)], statement: JSON.stringify(statement) };
}
