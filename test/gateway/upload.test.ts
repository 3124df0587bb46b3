// Snapshots that admins send: verified like any offer and stored, but not in force because of that.
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { instantOf, STATEMENT_LIMITS } from '../../engine/index.js';
import { POLICY_LIMITS } from '../../server/limits/policy.js';
import { A, B, C, HOUR, type Made, make, NOON } from '../support/followed-policy.js';
import { callAdmin, openGateway, openSocket, raw, type Reply, type TestGateway } from '../support/gateway.js';
import { makeSigner, ruleIn, signedBy, statementOf } from '../support/publisher.js';
import { makeFolder } from '../support/temp-folder.js';
import { until } from '../support/until.js';

const PATH = '/admin/v1/snapshots';
const SIGNER = makeSigner();
let [open, strict]: readonly (TestGateway | null)[] = [null, null];
let [admin, data] = ['', ''];

beforeAll(async () => {
  open = await openGateway({ admin: true, mode: { kind: 'serve', policy: A.policy } });
  const clock = { now: () => instantOf(NOON) };
  const rule = ruleIn(await makeFolder({}), [SIGNER]);
  strict = await openGateway({ admin: true, db: open.db, rule, clock, mode: { kind: 'serve', policy: A.policy } });
  admin = (await open.key({ actor: 'root', identities: [], admin: true })).text;
  data = (await open.key()).text;
});

afterAll(async () => {
  await strict?.dispose();
  await open?.dispose();
});

const port = (one = open): number => one?.admin?.port ?? 0;

function send(body: unknown, { to = open, key = admin, type = 'application/json' } = {}): Promise<Reply> {
  return callAdmin(port(to), { method: 'POST', path: PATH, key, body, headers: { 'content-type': type } });
}

const fileOf = ({ bytes }: Made): Buffer => Buffer.from(bytes);
const wrapped = (of: Made, statement: string): object => ({
  snapshot: fileOf(of).toString(),
  statement: JSON.parse(statement) as object,
});

/** What an admin is told: status, code, and the first reason. */
function told({ status, json }: Reply): string {
  const [reason] = (json?.['errors'] ?? []) as readonly { readonly message: string }[];
  return [status, ...[json?.['code'], reason?.message].filter((part) => typeof part === 'string')].join(' ');
}

async function listed(digest: string): Promise<Readonly<Record<string, unknown>> | undefined> {
  const { json } = await callAdmin(port(), { path: PATH, key: admin });
  return (json?.['snapshots'] as Readonly<Record<string, unknown>>[]).find(({ snapshot }) => snapshot === digest);
}

describe('a snapshot that is sent', () => {
  it('is stored, can be put in force, and is not by that', async () => {
    const { digest, decisions } = B.policy;
    expect(await send(fileOf(B))).toMatchObject({
      status: 201,
      json: { snapshot: digest, decisions, generation: null },
    });
    expect(await listed(digest)).toMatchObject({ state: 'stored', isSigned: false, generation: null });
    expect(open?.gateway.policies.current().policy.digest).toBe(A.policy.digest);
    const activated = await callAdmin(port(), { method: 'POST', path: `${PATH}/${digest}/activate`, key: admin });
    expect(activated.json).toMatchObject({ snapshot: digest });
    expect(await send(fileOf(B))).toMatchObject({
      status: 200,
      json: { generation: activated.json?.['generation'] },
    });
  });

  it('mends a stored copy that is damaged', async () => {
    await send(fileOf(C));
    await open?.db.knex('snapshot_parts').where({ snapshot: C.policy.digest }).del();
    expect((await send(fileOf(C))).status).toBe(200);
    expect(await open?.db.knex('snapshot_parts').where({ snapshot: C.policy.digest })).toHaveLength(1);
  });

  it('is recorded with whoever sent it', async () => {
    const outbox = (await open?.db.knex<{ event: string }>('audit_outbox').orderBy('position').select('event')) ?? [];
    const acts = outbox.map(({ event }) => JSON.parse(event) as Readonly<Record<string, unknown>>);
    expect(acts.filter(({ operation }) => operation === 'snapshot.store')).toMatchObject([
      { snapshot: B.policy.digest, status: 201, actor: { kind: 'admin', id: 'root' } },
      ...[B, C, C].map(({ policy }, n) => ({ snapshot: policy.digest, status: n === 1 ? 201 : 200 })),
    ]);
  });

  it('waits for no other admin, whose own one has stalled', async () => {
    const other = (await open?.key({ actor: 'slow', identities: [], admin: true }))?.text ?? '';
    const head = [
      'POST /admin/v1/snapshots HTTP/1.1',
      `Host: 127.0.0.1:${String(port())}`,
      `Authorization: Bearer ${other}`,
    ];
    const more = ['Content-Type: application/json', `Content-Length: ${String(POLICY_LIMITS.snapshotBytes)}`];
    const stall = async (): Promise<Socket> => {
      const socket = await openSocket(port());
      socket.write(`${[...head, ...more].join('\r\n')}\r\n\r\n{"snapshot":`);
      return socket;
    };
    let stalled = await stall();
    // A second one of the same admin says that the first has come so far. If the second was earlier, the first is refused.
    await until(async () => {
      if ((await send(fileOf(C), { key: other })).status === 429) return true;
      stalled.destroy();
      stalled = await stall();
      await sleep(20);
      return false;
    });
    expect((await send(fileOf(C))).status).toBe(200);
    stalled.destroy();
    await until(async () => (await send(fileOf(C), { key: other })).status === 200);
  });

  it('is sent once at a time by one admin', async () => {
    const answers = await Promise.all([send(fileOf(C)), send(fileOf(C)), send(fileOf(C))]);
    const statuses = answers.map(({ status }) => status).sort();
    expect([statuses[0], statuses[2]]).toEqual([200, 429]);
    expect(answers.find(({ status }) => status === 429)?.headers['ratelimit-policy']).toBe('"uploads";q=1;w=1');
    expect((await send(fileOf(C))).status).toBe(200);
  });
});

describe('what is refused', () => {
  const text = fileOf(B).toString();
  test.each<[string, () => Promise<Reply>, string]>([
    ['nobody', () => callAdmin(port(), { method: 'POST', path: PATH, body: {} }), '401 auth.required'],
    ['a data key', () => send(fileOf(B), { key: data }), '401 auth.invalid'],
    ['another media type', () => send(fileOf(B), { type: 'application/octet-stream' }), '415 request.media_type'],
    ['no body', () => send(''), '422 snapshot.invalid snapshot.malformed: not an intact snapshot'],
    ['no snapshot', () => send('[1]'), '422 snapshot.invalid snapshot.'],
    ['one that was cut', () => send(text.slice(0, -9)), '422 snapshot.invalid snapshot.malformed'],
    ['one that was changed', () => send(text.replace('ada', 'eva')), '422 snapshot.invalid snapshot.seal'],
    ['a wrapping of something else', () => send({ snapshot: 1, statement: {} }), '422 snapshot.invalid request.schema'],
    ['a wrapping of more', () => send({ snapshot: text, statement: {}, a: 1 }), '422 snapshot.invalid request.schema'],
    ['a wrapping without end', () => send('{"snapshot":"'), '422 snapshot.invalid request.malformed'],
    [
      'a statement that is none',
      () => send({ snapshot: text, statement: {} }),
      '422 snapshot.invalid statement.invalid',
    ],
    [
      'a statement that no file may be as large as',
      () => send(wrapped(B, signedBy(statementOf(B, { policy: 'x'.repeat(STATEMENT_LIMITS.fileBytes) }), [SIGNER]))),
      '422 snapshot.invalid statement.invalid: `statement` is not a signed statement: it is larger than 65536 bytes',
    ],
  ])('is %s', async (_, refuse, expected) => {
    expect(told(await refuse())).toContain(expected);
  });

  it('is what is too large, before a byte of it is read', async () => {
    const head = [
      'POST /admin/v1/snapshots HTTP/1.1',
      `Host: 127.0.0.1:${String(port())}`,
      `Authorization: Bearer ${admin}`,
    ];
    const more = ['Content-Type: application/json', `Content-Length: ${String(POLICY_LIMITS.snapshotBytes + 1)}`];
    const answer = await raw(
      port(),
      `${[...head, ...more, 'Expect: 100-continue', 'Connection: close'].join('\r\n')}\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
  });
});

describe('where snapshots have to be signed', () => {
  const sign = (of: Made, fields = {}, signer = SIGNER): object =>
    wrapped(of, signedBy(statementOf(of, fields), [signer]));
  const other = make('/b', 'other');

  test.each<[string, () => unknown, string]>([
    ['unsigned', () => fileOf(C), '422 snapshot.invalid signature.missing'],
    ['signed by somebody else', () => sign(C, {}, makeSigner()), '422 snapshot.invalid signature.'],
    [
      'for another environment',
      () => sign(C, { environment: 'staging' }),
      '422 snapshot.invalid statement.environment',
    ],
    ['expired', () => sign(C, { expires: instantOf(NOON - 1) }), '422 snapshot.invalid statement.expired'],
    ['about another snapshot', () => sign(C, { snapshot: B.policy.digest }), '422 snapshot.invalid statement.subject'],
    ['of another policy', () => sign(other), '422 snapshot.invalid snapshot.policy'],
  ])('one is not stored that is %s', async (_, body, expected) => {
    expect(told(await send(body(), { to: strict }))).toContain(expected);
  });

  it('one is stored with its statement, by which it can be put in force, and none that is older afterwards', async () => {
    const { digest } = C.policy;
    expect((await send(sign(C), { to: strict })).status).toBe(200);
    expect(await listed(digest)).toMatchObject({ isSigned: true });
    const activate = { method: 'POST', path: `${PATH}/${digest}/activate`, key: admin };
    expect((await callAdmin(port(strict), activate)).json).toMatchObject({ snapshot: digest });
    const issued = instantOf(NOON - 2 * HOUR);
    expect(told(await send(sign(B, { generation: 6, issued }), { to: strict }))).toContain(
      '409 snapshot.rollback_refused',
    );
  });
});
