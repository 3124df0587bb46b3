// The envelope around a statement: DSSE, a payload with signatures over its exact bytes. Fields that DSSE does not name are
// passed over, as it asks: nothing outside the payload is signed, so nothing outside may matter.
import { snapshotJson } from '../snapshot/canonical.js';
import { decodeAnyBase64, encodeBase64 } from './base64.js';
import { memberOf, textOf } from './fields.js';
import { STATEMENT_LIMITS } from '../limits.js';

const SIGNATURE_BYTES = 64;

export interface EnvelopeSignature {
  /** Whose it claims to be, which nobody has signed. Null if it does not say, or says nothing. */
  readonly keyId: string | null;
  /** 64 bytes, or null if the string is not such a signature. */
  readonly bytes: Uint8Array | null;
}

export interface Envelope {
  readonly payloadType: string;
  readonly payload: Uint8Array;
  readonly signatures: readonly EnvelopeSignature[];
}

/** From parsed JSON: the envelope, or what is wrong with it. One signature that is malformed does not spoil the others. */
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

/** The text of a statement file. Signatures that are malformed are left out. */
export function encodeEnvelope({ payloadType, payload, signatures }: Envelope): string {
  return snapshotJson({
    payloadType,
    payload: encodeBase64(payload),
    signatures: signatures.flatMap(({ keyId, bytes }) =>
      bytes === null ? [] : [{ ...(keyId === null ? {} : { keyid: keyId }), sig: encodeBase64(bytes) }],
    ),
  });
}

/** What is really signed (DSSE, "PAE"): type and payload with their lengths, so that no two pairs give the same bytes. */
export function preAuthEncoding({ payloadType, payload }: Pick<Envelope, 'payloadType' | 'payload'>): Uint8Array {
  const type = new TextEncoder().encode(payloadType);
  const head = new TextEncoder().encode(`DSSEv1 ${String(type.length)} ${payloadType} ${String(payload.length)} `);
  const bytes = new Uint8Array(head.length + payload.length);
  bytes.set(head);
  bytes.set(payload, head.length);
  return bytes;
}
