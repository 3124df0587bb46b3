// What Node.js prints as text, its own warnings and those of the embedded store, a gateway has in its log as JSON.
import { expect, it } from '@jest/globals';
import { startServingWith } from '../support/serve-process.js';
import { makeFolder } from '../support/temp-folder.js';
import { until } from '../support/until.js';

const WARNS =
  'data:text/javascript,process.once("message",(said)=>{process.disconnect();process.emitWarning(said,{code:"BAILIWICK_STORE_BROKEN"})})';

it('are lines of the log with level, time and message', async () => {
  const gateway = await startServingWith(['--import', WARNS], await makeFolder(), 'local');
  gateway.child.send('the store has failed');
  await until(() => gateway.stderr().includes('the store has failed'));
  gateway.child.kill('SIGTERM');
  expect(await gateway.ended).toBe(0);
  const lines = gateway.stderr().trim().split('\n');
  expect(lines.map((line) => JSON.parse(line) as unknown)).toContainEqual({
    level: 'warn',
    time: expect.any(String),
    warning: 'Warning',
    code: 'BAILIWICK_STORE_BROKEN',
    msg: 'the store has failed',
  });
});
