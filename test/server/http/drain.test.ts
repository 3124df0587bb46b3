import { once } from 'node:events';
import { Agent } from 'node:http';
import { connect } from 'node:net';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { call, callAdmin, openGateway, openSocket, readToEnd } from '../../support/gateway.js';

const BODY = '{"family":"resource","namespace":"/"}';

function head(key: string): string {
  return `POST /api/v1/query HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${String(BODY.length)}\r\n\r\n`;
}

/** What was sent before has been read after it, however long the process was held up. */
async function moment(): Promise<void> {
  await sleep(100);
  for (let i = 0; i < 3; i += 1) await turn();
}

describe('closing a gateway', () => {
  it('ends what is in flight, refuses what begins, lets idle connections go, and takes no new ones', async () => {
    const open = await openGateway();
    const { text: key } = await open.key();
    const agent = new Agent({ keepAlive: true });
    expect((await call(open.port, { key, body: BODY, agent })).status).toBe(200);
    const [inFlight, beginning] = [await openSocket(open.port), await openSocket(open.port)];
    const answers = Promise.all([readToEnd(inFlight), readToEnd(beginning)]);
    inFlight.write(head(key) + BODY.slice(0, 5));
    beginning.write(head(key).slice(0, 40));
    await moment();

    const closed = open.gateway.close();
    await moment();
    await expect(openSocket(open.port)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    inFlight.write(BODY.slice(5));
    beginning.write(head(key).slice(40) + BODY);
    const [ended, refused] = await answers;
    expect(ended).toMatch(/^HTTP\/1\.1 200 .*connection: close.*"items":\[\]/is);
    expect(refused).toMatch(/^HTTP\/1\.1 503 .*connection: close.*shutting_down/is);
    await closed;
    agent.destroy();
    // Once more: it may be asked for twice.
    await open.gateway.close();
    await open.dispose();
  });

  it('is not ready from the first moment, and answers everybody until the notice is over', async () => {
    const open = await openGateway({ admin: true });
    const { text: key } = await open.key();
    const agent = new Agent({ keepAlive: true });
    const readiness = (): Promise<number> =>
      callAdmin(open.admin?.port ?? 0, { path: '/readyz' }).then(({ status }) => status);
    const ask = (): ReturnType<typeof call> => call(open.port, { key, body: BODY, agent });
    const [before, wasReady] = [await ask(), await readiness()];
    expect([before.status, before.headers['connection'], wasReady]).toEqual([200, 'keep-alive', 200]);

    const closed = open.gateway.close({ notice: 3_000, deadline: 4_000 });
    expect(await readiness()).toBe(503);
    // On the connection that is open, and on a new one.
    for (const told of [await ask(), await ask()]) {
      expect([told.status, told.headers['connection']]).toEqual([200, 'close']);
    }
    expect(await readiness()).toBe(503);
    await closed;
    await expect(ask()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    agent.destroy();
    await open.dispose();
  });

  it('cuts what is not over at the deadline wherever it was asked, so that its end comes in time', async () => {
    const open = await openGateway({ admin: true });
    const { text: key } = await open.key();
    const [asking, rollingBack] = [await openSocket(open.port), connect(open.admin?.socket ?? '')];
    const ends = [asking, rollingBack].map((socket) => readToEnd(socket));
    asking.write(head(key) + BODY.slice(0, 5));
    rollingBack.write('POST /admin/v1/rollback HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n');
    rollingBack.write('Content-Length: 10\r\n\r\n{');
    await moment();
    const [begun, deadline] = [performance.now(), 5_000];
    await open.gateway.close({ notice: null, deadline });
    expect(performance.now() - begun).toBeLessThan(2 * deadline);
    await Promise.all(ends);
    await open.dispose();
  });

  it('cuts what is not over at the deadline, and does not wait that long for who never asked', async () => {
    const open = await openGateway();
    const { text: key } = await open.key();
    const [stuck, mute] = [await openSocket(open.port), await openSocket(open.port)];
    const ended: string[] = [];
    const gone = Promise.all([
      once(stuck, 'close').then(() => ended.push('stuck')),
      once(mute, 'close').then(() => ended.push('mute')),
    ]);
    stuck.resume().on('error', () => undefined);
    mute.resume().on('error', () => undefined);
    stuck.write(head(key) + BODY.slice(0, 5));
    await moment();
    const from = performance.now();
    await open.gateway.close({ notice: null, deadline: 2_000 });
    expect(performance.now() - from).toBeGreaterThan(1_900);
    await gone;
    expect(ended).toEqual(['mute', 'stuck']);
    await open.dispose();
  });
});
