// Strict base64 (RFC 4648) in both directions: no other characters inside or around, and unused bits are zero. This program and
// keyrings use the standard alphabet with padding, so bytes have only one spelling. Envelopes from others may be URL-safe.

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const VALUES: ReadonlyMap<number, number> = new Map(
  Array.from(ALPHABET, (letter, value) => [letter.charCodeAt(0), value]),
);

export function encodeBase64(bytes: Uint8Array): string {
  let text = '';
  for (let i = 0; i < bytes.length; i += 3) {
    const group = ((bytes[i] ?? 0) << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0);
    const used = Math.min(3, bytes.length - i) + 1;
    for (let k = 0; k < 4; k += 1) text += k < used ? (ALPHABET[(group >>> (18 - 6 * k)) & 63] ?? '') : '=';
  }
  return text;
}

/** Decodes the standard alphabet with padding. Null for any text that `encodeBase64` would not write. */
export function decodeBase64(text: string): Uint8Array | null {
  if (text.length % 4 !== 0) return null;
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  const letters = text.length - padding;
  const bytes = new Uint8Array((text.length / 4) * 3 - padding);
  let bits = 0;
  let at = 0;
  for (let i = 0; i < text.length; i += 1) {
    const value = i < letters ? VALUES.get(text.charCodeAt(i)) : 0;
    if (value === undefined) return null;
    bits = (bits << 6) | value;
    if (i % 4 < 3) continue;
    // Writing past the end of a typed array does nothing. The bits there are padding.
    for (let k = 0; k < 3; k += 1, at += 1) bytes[at] = (bits >>> (16 - 8 * k)) & 255;
    bits = 0;
  }
  return encodeBase64(bytes) === text ? bytes : null;
}

/** Decodes the standard alphabet with padding, or the URL-safe one with or without. Null for any other text or a mix of both. */
export function decodeAnyBase64(text: string): Uint8Array | null {
  const standard = decodeBase64(text);
  if (standard !== null || !/^[A-Za-z0-9_-]*={0,2}$/.test(text)) return standard;
  const rest = text.length % 4;
  const padded = text.includes('=') || rest === 0 ? text : text.padEnd(text.length + 4 - rest, '=');
  return decodeBase64(padded.replaceAll('-', '+').replaceAll('_', '/'));
}
