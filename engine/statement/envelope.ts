// The DSSE envelope around a statement: a payload with signatures over its exact bytes. Fields that DSSE does not define are ignored,
// as it requires. They are not signed, so they must not matter.
import { snapshotJson } from '../snapshot/canonical.js';
import { decodeAnyBase64, encodeBase64 } from './base64.js';
import { memberOf, textOf } from './fields.js';
import { STATEMENT_LIMITS } from '../limits.js';

const SIGNATURE_BYTES = 64;

export interface EnvelopeSignature {
  /** The key that it claims to be by. The claim itself is not signed. Null if it is absent or empty. */
  readonly keyId: string | null;
  /** 64 bytes, or null if the string is not such a signature. */
  readonly bytes: Uint8Array | null;
}

export interface Envelope {
  readonly payloadType: string;
  readonly payload: Uint8Array;
  readonly signatures: readonly EnvelopeSignature[];
}

/** Takes parsed JSON and returns the envelope, or what is wrong with it. A malformed signature does not affect the others. */
export function decodeEnvelope(value: unknown): Envelope | string {
  const payloadType = textOf(memberOf(value, 'payloadType'));
  const payload = decodeAnyBase64(textOf(memberOf(value, 'payload')) ?? '*');
  const signatures = memberOf(value, 'signatures');
  if (payloadType === null || payload === null || !Array.isArray(signatures)) {
    return 'it is not a DSSE envelope: `payloadType`, `payload` in base64 and a list of `signatures` are needed';
  }
  if (signatures.length > STATEMENT_LIMITS.signatures) {
    return `it has more than ${String(STATEMENT_LIMITS.signatures)} signatures`;
  }
  return { payloadType, payload, signatures: signatures.map(decodeSignature) };
}

function decodeSignature(value: unknown): EnvelopeSignature {
  const bytes = decodeAnyBase64(textOf(memberOf(value, 'sig')) ?? '*');
  const keyId = textOf(memberOf(value, 'keyid'));
  return { keyId: keyId === '' ? null : keyId, bytes: bytes?.length === SIGNATURE_BYTES ? bytes : null };
}

/** The text of a statement file. Malformed signatures are left out. */
export function encodeEnvelope({ payloadType, payload, signatures }: Envelope): string {
  return snapshotJson({
    payloadType,
    payload: encodeBase64(payload),
    signatures: signatures.flatMap(({ keyId, bytes }) =>
      bytes === null ? [] : [{ ...(keyId === null ? {} : { keyid: keyId }), sig: encodeBase64(bytes) }],
    ),
  });
}

/** The bytes that are signed (DSSE, "PAE"): type and payload with their lengths, so that no two pairs give the same bytes. */
export function preAuthEncoding({ payloadType, payload }: Pick<Envelope, 'payloadType' | 'payload'>): Uint8Array {
  const type = new TextEncoder().encode(payloadType);
  const head = new TextEncoder().encode(`DSSEv1 ${String(type.length)} ${payloadType} ${String(payload.length)} `);
  const bytes = new Uint8Array(head.length + payload.length);
  bytes.set(head);
  bytes.set(payload, head.length);
  return bytes;
}
