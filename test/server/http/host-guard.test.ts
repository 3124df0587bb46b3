import { describe, expect, it, test } from '@jest/globals';
import { isLoopback, isLoopbackName, loopbackHost, ownPage } from '../../../server/http/host-guard.js';

describe('loopbackHost', () => {
  const guard = loopbackHost({ kind: 'tcp', host: '127.0.0.1', port: 8080 });

  test.each([
    ['127.0.0.1:8080', undefined],
    ['localhost:8080', undefined],
    ['LOCALHOST:8080', undefined],
    ['[::1]:8080', undefined],
    ['localhost:8080', 'http://localhost:8080'],
    ['localhost:8080', 'http://127.0.0.1:8080'],
  ])('serves Host %s with Origin %s', (host, origin) => {
    expect(() => {
      guard(host, origin);
    }).not.toThrow();
  });

  test.each([
    ['attacker.example', undefined],
    ['attacker.example:8080', undefined],
    ['localhost', undefined],
    ['localhost:8081', undefined],
    ['127.0.0.1', undefined],
    ['localhost.attacker.example:8080', undefined],
    ['localhost.:8080', undefined],
    ['127.1:8080', undefined],
    ['[::ffff:127.0.0.1]:8080', undefined],
    ['[0:0:0:0:0:0:0:1]:8080', undefined],
    ['127.0.0.2:8080', undefined],
    ['localhost:8080', 'https://evil.example'],
    ['localhost:8080', 'http://localhost:3000'],
    ['localhost:8080', 'https://localhost:8080'],
    ['localhost:8080', 'null'],
  ])('refuses Host %s with Origin %s', (host, origin) => {
    expect(() => {
      guard(host, origin);
    }).toThrow(expect.objectContaining({ code: 'request.host', status: 421 }));
  });

  it('takes the bare name where http stands for the port', () => {
    expect(() => {
      loopbackHost({ kind: 'tcp', host: '127.0.0.1', port: 80 })('localhost', undefined);
    }).not.toThrow();
  });
});

it('under TLS takes origins of https alone, and the bare name where https stands for the port', () => {
  const guard = loopbackHost({ kind: 'tls', host: '127.0.0.1', port: 443 });
  expect(() => {
    guard('localhost', 'https://localhost');
    guard('[::1]:443', 'https://[::1]:443');
  }).not.toThrow();
  expect(() => {
    guard('localhost', 'http://localhost');
  }).toThrow(expect.objectContaining({ code: 'request.host' }));
});

it('serves the address that it listens on', () => {
  expect(() => {
    loopbackHost({ kind: 'tcp', host: '127.0.0.2', port: 8080 })('127.0.0.2:8080', undefined);
  }).not.toThrow();
});

test.each([
  ['127.0.0.1', true],
  ['127.8.9.1', true],
  ['::1', true],
  ['0:0:0:0:0:0:0:1', true],
  ['::ffff:127.0.0.1', true],
  ['0.0.0.0', false],
  ['::', false],
  ['::2', false],
  ['::ffff:10.0.0.1', false],
  ['10.0.0.1', false],
  ['localhost', false],
  ['127.0.0.1.example.org', false],
])('the address %s is loopback: %s', (address, loopback) => {
  expect(isLoopback(address)).toBe(loopback);
});

it('takes localhost as a name of this machine, and no other name', () => {
  expect([isLoopbackName('LocalHost'), isLoopbackName('localhost.example.org')]).toEqual([true, false]);
});

describe('ownPage', () => {
  const guard = ownPage({ kind: 'tls', host: '0.0.0.0', port: 8081 });

  test.each([
    ['gateway.example.org:8081', undefined],
    ['gateway.example.org:8081', 'https://gateway.example.org:8081'],
    ['Gateway.example.org', 'https://gateway.example.org'],
  ])('serves Host %s with Origin %s', (host, origin) => {
    expect(() => {
      guard(host, origin);
    }).not.toThrow();
  });

  test.each([
    ['gateway.example.org:8081', 'https://attacker.example'],
    ['gateway.example.org:8081', 'http://gateway.example.org:8081'],
    ['gateway.example.org:8081', 'https://gateway.example.org'],
    ['gateway.example.org:8081', 'https://gateway.example.org:8081.attacker.example'],
    ['gateway.example.org:8081', 'null'],
  ])('refuses Host %s with Origin %s', (host, origin) => {
    expect(() => {
      guard(host, origin);
    }).toThrow(expect.objectContaining({ code: 'request.host', status: 421 }));
  });
});
