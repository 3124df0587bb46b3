// Settings of the front door: proxies and origins that could mean everybody are refused, with their place.
import { expect, test } from '@jest/globals';
import { readConfig } from '../../../server/config/index.js';
import { makeFolder } from '../../support/temp-folder.js';

test.each([
  ['trustProxy: ["*"]', 'must be an address or a network'],
  ['trustProxy: [0.0.0.0/0]', 'would trust everybody'],
  ['trustProxy: ["::/0"]', 'would trust everybody'],
  ['trustProxy: [10.0.0.0/33]', 'has a prefix length'],
  ['trustProxy: [10.0.0.0/08]', 'has a prefix length'],
  ['trustProxy: [proxy.example.org]', 'must be an address or a network'],
  ['trustProxy: true', 'must be a list of addresses'],
  ['trustProxy: []', 'must be a list of addresses'],
  ['cors: { origins: ["*"] }', 'must be an origin'],
  ['cors: { origins: ["null"] }', 'must be an origin'],
  ['cors: { origins: ["https://app.example.org/"] }', 'must be an origin'],
  ['cors: { origins: ["https://*.example.org"] }', 'must be an origin'],
  ['cors: { origins: ["HTTPS://app.example.org"] }', 'must be an origin'],
  ['cors: { origins: ["app.example.org"] }', 'must be an origin'],
  ['cors: { origins: "https://app.example.org" }', 'must be a list of origins'],
  ['adminListen: ""', 'must be `host:port`'],
  ['adminListen: "8081"', 'must be `host:port`'],
])('%s is refused', async (file, words) => {
  const cwd = await makeFolder({ 'bailiwick.yaml': `${file}\n` });
  const { config, faults } = await readConfig({ flags: {}, env: {}, cwd });
  expect([config, faults]).toEqual([
    null,
    [{ place: expect.stringMatching(/^bailiwick\.yaml:1:/), message: expect.stringContaining(words) }],
  ]);
});

test('proxies and origins are kept as they are written', async () => {
  const file = 'trustProxy: [10.0.0.0/8, "::1"]\ncors: { origins: ["https://app.example.org"] }\n';
  const cwd = await makeFolder({ 'bailiwick.yaml': file });
  const { config } = await readConfig({ flags: {}, env: {}, cwd });
  expect(config).toMatchObject({
    trustProxy: ['10.0.0.0/8', '::1'],
    cors: { origins: ['https://app.example.org'] },
  });
});
