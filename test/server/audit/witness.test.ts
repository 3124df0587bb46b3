// What the answers of a witness are taken for.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Cosigned, cosign, type Submission } from '../../../server/audit/witness.js';
import { AUDIT_LIMITS } from '../../../server/limits/logs.js';
import { originOf } from '../../../server/audit/checkpoint.js';
import { parseWitnessKey } from '../../../server/signing/signed-note.js';
import { LOG } from '../../support/audit-log.js';
import { startWitness } from '../../support/witness.js';

const TEXT = `${originOf(LOG)}\n3\n${Buffer.alloc(32, 7).toString('base64')}\n`;
const SUBMISSION: Submission = { text: TEXT, note: `${TEXT}\n\u2014 signed\n`, old: 0, growth: [] };

interface Told {
  readonly line: string;
  readonly accepts: string | undefined;
  readonly body: string;
}

let server: Server;
let port: number;
let told: Told[];
let answer: { readonly status: number; readonly type?: string; readonly text?: string };
beforeAll(async () => {
  server = createServer((request, response) => {
    let body = '';
    request.on('data', (bytes: Buffer) => (body += bytes.toString('utf8')));
    request.on('end', () => {
      told.push({ line: `${request.method ?? ''} ${request.url ?? ''}`, accepts: request.headers.accept, body });
      response.writeHead(answer.status, { 'Content-Type': answer.type ?? 'text/plain' }).end(answer.text ?? '');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
});
beforeEach(() => {
  told = [];
});

async function ask(path = '/w', submission = SUBMISSION, signal = new AbortController().signal): Promise<Cosigned> {
  const key = { name: 'w.example', publicKey: Buffer.alloc(32) };
  return cosign({ url: `http://127.0.0.1:${String(port)}${path}`, key }, submission, signal);
}

describe('a witness', () => {
  it('is sent the note, with how far it had signed and what leads on from there', async () => {
    answer = { status: 200 };
    const growth = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
    await ask('/w', { ...SUBMISSION, old: 2, growth });
    await ask('/w/');
    const proof = growth.map((one) => `${one.toString('base64')}\n`).join('');
    expect(told).toEqual([
      { line: 'POST /w/add-checkpoint', accepts: 'text/plain', body: `old 2\n${proof}\n${SUBMISSION.note}` },
      { line: 'POST /w/add-checkpoint', accepts: 'text/plain', body: `old 0\n\n${SUBMISSION.note}` },
    ]);
  });

  it('has signed where its answer has a signature of its key', async () => {
    const witness = await startWitness('w.example/1');
    const key = parseWitnessKey(witness.verifierKey);
    if (key === null) throw new Error('no key');
    expect(await cosign({ url: witness.url, key }, SUBMISSION, new AbortController().signal)).toEqual({
      kind: 'signed',
      lines: [expect.stringMatching(/^\u2014 w\.example\/1 /)],
    });
    await witness.stop();
  });

  it.each<readonly [string, typeof answer, Cosigned]>([
    [
      'no signature',
      { status: 200, text: '\u2014 w.example AAAA\n' },
      { kind: 'failed', reason: 'its answer has no signature of its key' },
    ],
    ['another size', { status: 409, type: 'text/x.tlog.size', text: '120\n' }, { kind: 'other_size', size: 120 }],
    ['no size yet', { status: 409, type: 'text/x.tlog.size', text: '0\n' }, { kind: 'other_size', size: 0 }],
    ...['012\n', '12', '12\n\n', 'x12\n', '1234567890123456\n'].map(
      (text): readonly [string, typeof answer, Cosigned] => [
        `what is no size: ${JSON.stringify(text)}`,
        { status: 409, type: 'text/x.tlog.size', text },
        { kind: 'contradicted', reason: 'it has signed another checkpoint of this size' },
      ],
    ),
    [
      'a size of another type',
      { status: 409, text: '12\n' },
      { kind: 'contradicted', reason: 'it has signed another checkpoint of this size' },
    ],
    [
      'a size with another status',
      { status: 500, type: 'text/x.tlog.size', text: '12\n' },
      { kind: 'failed', reason: 'it answers 500' },
    ],
    [
      'that it signed something else',
      { status: 422 },
      { kind: 'contradicted', reason: 'the log does not begin with what it has signed before' },
    ],
    ['403', { status: 403 }, { kind: 'failed', reason: 'it does not know the key of this log' }],
    ['404', { status: 404 }, { kind: 'failed', reason: 'it does not know this log' }],
    [
      'too much',
      { status: 200, text: 'x'.repeat(AUDIT_LIMITS.witnessBytes + 1) },
      { kind: 'failed', reason: expect.stringMatching(/^it .*16,?384 bytes/) as unknown as string },
    ],
  ])('may answer with %s', async (_, given, taken) => {
    answer = given;
    expect(await ask()).toEqual(taken);
  });

  it('that is not there, or that nobody waits for, has not answered', async () => {
    const aborted = await ask('/w', SUBMISSION, AbortSignal.abort());
    expect(aborted).toEqual({ kind: 'failed', reason: expect.stringMatching(/^it [a-z]/) });
    const [there] = [port];
    port = 1;
    expect(await ask()).toEqual({ kind: 'failed', reason: 'it cannot be reached' });
    port = there;
  });
});
