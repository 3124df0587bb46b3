// A witness of logs (C2SP tlog-witness), written from the pages of C2SP and RFC 9162 alone: it signs a checkpoint once
// it is proved to go on from the one that it signed before.
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface TestWitness {
  readonly url: string;
  readonly verifierKey: string;
  /** What it has signed of each log: the size and the root. */
  readonly signed: Map<string, { readonly size: number; readonly root: Buffer }>;
  /** The status of each answer. */
  readonly answers: number[];
  /** Answers with this status, whatever it is asked; null: as a witness does. */
  answer: number | null;
  readonly stop: () => Promise<void>;
}

export async function startWitness(name: string): Promise<TestWitness> {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const raw = Buffer.concat([Buffer.of(4), publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)]);
  const id = sha256(Buffer.from(`${name}\n`), raw).subarray(0, 4);
  const signed: TestWitness['signed'] = new Map();
  const answers: number[] = [];
  const judge = (body: string): readonly [number, string, string] => {
    if (witness.answer !== null) return [witness.answer, 'text/plain', ''];
    const gap = body.indexOf('\n\n');
    const [oldLine = '', ...proof] = body.slice(0, gap).split('\n');
    const text = body.slice(gap + 2, body.lastIndexOf('\n\n') + 1);
    const [origin = '', sizeLine, rootLine = ''] = text.split('\n');
    const [old, size, root] = [Number(oldLine.slice(4)), Number(sizeLine), Buffer.from(rootLine, 'base64')];
    const last = signed.get(origin) ?? { size: 0, root: sha256() };
    if (last.size !== old) return [409, 'text/x.tlog.size', `${String(last.size)}\n`];
    const hashes = proof.map((line) => Buffer.from(line, 'base64'));
    if (old === size && !last.root.equals(root)) return [409, 'text/plain', ''];
    if (!growsTo({ size: old, root: last.root }, { size, root }, hashes)) return [422, 'text/plain', ''];
    signed.set(origin, { size, root });
    const time = BigInt(1_800_000_000 + answers.length);
    const stamp = Buffer.alloc(8);
    stamp.writeBigUInt64BE(time);
    const signature = sign(null, Buffer.from(`cosignature/v1\ntime ${String(time)}\n${text}`), privateKey);
    return [200, 'text/plain', `\u2014 ${name} ${Buffer.concat([id, stamp, signature]).toString('base64')}\n`];
  };
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (bytes: Buffer) => (body += bytes.toString('utf8')));
    request.on('end', () => {
      const isAsked = request.method === 'POST' && request.url === '/log/add-checkpoint';
      const [status, type, text] = isAsked ? judge(body) : [404, 'text/plain', ''];
      answers.push(status);
      response.writeHead(status, { 'Content-Type': type }).end(text);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const witness: TestWitness = {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/log`,
    verifierKey: `${name}+${id.toString('hex')}+${raw.toString('base64')}`,
    signed,
    answers,
    answer: null,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
  return witness;
}

interface Head {
  readonly size: number;
  readonly root: Buffer;
}

/** RFC 9162, section 2.1.4.2. */
export function growsTo(first: Head, second: Head, proof: readonly Buffer[]): boolean {
  if (first.size === 0 || first.size === second.size) return proof.length === 0;
  if (first.size > second.size) return false;
  const path = Number.isInteger(Math.log2(first.size)) ? [first.root, ...proof] : [...proof];
  const [start, ...rest] = path;
  if (start === undefined) return false;
  let [fn, sn] = [first.size - 1, second.size - 1];
  while (fn % 2 === 1) [fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)];
  let [fr, sr] = [start, start];
  for (const hash of rest) {
    if (sn === 0) return false;
    if (fn % 2 === 1 || fn === sn) {
      [fr, sr] = [node(hash, fr), node(hash, sr)];
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)];
    } else sr = node(sr, hash);
    [fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)];
  }
  return sn === 0 && fr.equals(first.root) && sr.equals(second.root);
}

function node(left: Buffer, right: Buffer): Buffer {
  return sha256(Buffer.of(1), left, right);
}

function sha256(...parts: readonly Buffer[]): Buffer {
  const digest = createHash('sha256');
  for (const part of parts) digest.update(part);
  return digest.digest();
}
