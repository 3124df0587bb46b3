import { Agent } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { call, openGateway, openSocket, readToEnd } from '../../support/gateway.js';

const BODY = '{"family":"resource","namespace":"/"}';

function head(key: string): string {
  return `POST /api/v1/query HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${String(BODY.length)}\r\n\r\n`;
}

const moment = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 100));

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
});
