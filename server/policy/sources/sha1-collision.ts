// Whether bytes were made to share their SHA-1 with other bytes. Every known attack works with one of a few differences
// between the two messages (disturbance vectors). So each block is hashed a second time as the sibling that it would
// have under each of them: if both give the same result, one was made for the other. This is counter-cryptanalysis
// (M. Stevens, 2013), with the 32 vectors of Stevens and Shumow (2017).

/** Whether one block of the message that is hashed is half of a collision. */
export function holdsCollision(message: Uint8Array): boolean {
  const chain = Int32Array.from(INITIAL);
  const words = new Int32Array(STEPS);
  const states = new Int32Array(STEPS + 5);
  for (const block of blocksOf(message)) {
    expand(block, words);
    begin(states, chain);
    forward({ states, words, difference: NONE }, 0);
    if (VECTORS.some((vector) => hasSibling({ states, words }, vector))) return true;
    for (let index = 0; index < 5; index += 1) chain[index] = sum(states, index);
  }
  return false;
}

const STEPS = 80;
const INITIAL = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0];
const CONSTANTS = Int32Array.from({ length: STEPS }, (_, step) =>
  step < 20 ? 0x5a827999 : step < 40 ? 0x6ed9eba1 : step < 60 ? 0x8f1bbcdc : 0xca62c1d6,
);
const NONE = new Int32Array(STEPS);

/**
 * `states[step + 4]` is the word that `step` steps have made last. The five from `step` on are the state after `step`
 * steps, of which the oldest three are not rotated yet.
 */
interface Block {
  readonly states: Int32Array;
  readonly words: Int32Array;
}

interface Differing extends Block {
  readonly difference: Int32Array;
}

interface Vector {
  readonly difference: Int32Array;
  /** After how many steps the states of both siblings are equal. */
  readonly meetsAt: number;
}

/** The 32 vectors, by Manuel's classes: the first word that is looked at, and the rotation. */
const FIRST_CLASS = [
  ...[43, 44, 45, 46, 47, 48, 49, 50, 51, 52].map((at) => [at, 0] as const),
  ...[46, 47, 48, 49, 50, 51].map((at) => [at, 2] as const),
];
const SECOND_CLASS = [
  ...[45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56].map((at) => [at, 0] as const),
  ...[46, 49, 50, 51].map((at) => [at, 2] as const),
];
const VECTORS: readonly Vector[] = [
  ...FIRST_CLASS.map(([at, turn]) => vectorOf(at, { [at + 15]: rotate(1, turn) })),
  ...SECOND_CLASS.map(([at, turn]) => {
    const high = rotate(1, 31 + turn);
    return vectorOf(at, { [at + 1]: high, [at + 3]: high, [at + 15]: rotate(1, turn) });
  }),
];

/** Expands 16 words of the vector in both directions, and puts a local collision of six steps at each of its bits. */
function vectorOf(at: number, set: Readonly<Record<number, number>>): Vector {
  const before = 5;
  const bits = new Int32Array(before + STEPS);
  const get = (index: number): number => bits[before + index] ?? 0;
  for (const [index, word] of Object.entries(set)) bits[before + Number(index)] = word;
  for (let index = at + 16; index < STEPS; index += 1)
    bits[before + index] = rotate(get(index - 3) ^ get(index - 8) ^ get(index - 14) ^ get(index - 16), 1);
  for (let index = at - 1; index >= -before; index -= 1)
    bits[before + index] = rotate(get(index + 16), 31) ^ get(index + 13) ^ get(index + 8) ^ get(index + 2);
  const difference = Int32Array.from(
    { length: STEPS },
    (_, index) =>
      get(index) ^
      rotate(get(index - 1), 5) ^
      get(index - 2) ^
      rotate(get(index - 3) ^ get(index - 4) ^ get(index - 5), 30),
  );
  return { difference, meetsAt: at < 50 ? 58 : 65 };
}

/** Hashes the sibling from where both meet, back to its beginning and on to its end. */
function hasSibling({ states, words }: Block, { difference, meetsAt }: Vector): boolean {
  for (let index = meetsAt; index < meetsAt + 5; index += 1) SIBLING[index] = states[index] ?? 0;
  const sibling = { states: SIBLING, words, difference };
  forward(sibling, meetsAt);
  backward(sibling, meetsAt);
  for (let index = 0; index < 5; index += 1) if (sum(SIBLING, index) !== sum(states, index)) return false;
  return true;
}

const SIBLING = new Int32Array(STEPS + 5);

function forward({ states, words, difference }: Differing, from: number): void {
  for (let step = from; step < STEPS; step += 1)
    states[step + 5] =
      (rotate(states[step] ?? 0, 30) + added(states, step) + ((words[step] ?? 0) ^ (difference[step] ?? 0))) | 0;
}

function backward({ states, words, difference }: Differing, from: number): void {
  for (let step = from - 1; step >= 0; step -= 1)
    states[step] = rotate(
      ((states[step + 5] ?? 0) - added(states, step) - ((words[step] ?? 0) ^ (difference[step] ?? 0))) | 0,
      2,
    );
}

/** What a step adds besides its word and the oldest word of the state. */
function added(states: Int32Array, step: number): number {
  const b = states[step + 3] ?? 0;
  const c = rotate(states[step + 2] ?? 0, 30);
  const d = rotate(states[step + 1] ?? 0, 30);
  const mixed = step < 20 ? d ^ (b & (c ^ d)) : step < 40 || step >= 60 ? b ^ c ^ d : (b & c) | (d & (b | c));
  return (rotate(states[step + 4] ?? 0, 5) + mixed + (CONSTANTS[step] ?? 0)) | 0;
}

function rotate(word: number, by: number): number {
  return (word << by) | (word >>> (32 - by));
}

/** Turns a chaining value into the state before the first step. */
function begin(states: Int32Array, chain: Int32Array): void {
  for (let index = 0; index < 5; index += 1)
    states[4 - index] = index < 2 ? (chain[index] ?? 0) : rotate(chain[index] ?? 0, 2);
}

/** One word of the next chaining value. */
function sum(states: Int32Array, index: number): number {
  const [first, last] = [states[4 - index] ?? 0, states[STEPS + 4 - index] ?? 0];
  return index < 2 ? (first + last) | 0 : (rotate(first, 30) + rotate(last, 30)) | 0;
}

function expand(block: DataView, words: Int32Array): void {
  for (let index = 0; index < 16; index += 1) words[index] = block.getInt32(index * 4);
  for (let index = 16; index < STEPS; index += 1)
    words[index] = rotate(
      (words[index - 3] ?? 0) ^ (words[index - 8] ?? 0) ^ (words[index - 14] ?? 0) ^ (words[index - 16] ?? 0),
      1,
    );
}

const BLOCK = 64;

/** With the padding. */
function* blocksOf(message: Uint8Array): Generator<DataView> {
  const whole = message.length - (message.length % BLOCK);
  for (let from = 0; from < whole; from += BLOCK) yield new DataView(message.buffer, message.byteOffset + from, BLOCK);
  const rest = message.subarray(whole);
  const end = new Uint8Array(rest.length < BLOCK - 8 ? BLOCK : 2 * BLOCK);
  end.set(rest);
  end[rest.length] = 0x80;
  new DataView(end.buffer).setBigUint64(end.length - 8, BigInt(message.length) * 8n);
  for (let from = 0; from < end.length; from += BLOCK) yield new DataView(end.buffer, from, BLOCK);
}
