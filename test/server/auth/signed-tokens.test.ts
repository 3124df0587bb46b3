// Signed tokens as credentials, attacked row by row: header, keys and spelling. Anything that is not exactly a token of
// a configured issuer is refused with the same answer as every other refusal.
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { createHmac, createPublicKey } from 'node:crypto';
import { CompactEncrypt, SignJWT } from 'jose';
import { instantOf, carriedNames, unrestrictedPolicy } from '../../../engine/index.js';
import { makeRegistry } from '../../../server/auth/authenticator.js';
import { type IssuerKey, openIssuer, sign } from '../../support/token-issuer.js';
import { NOW, openTokenWorld, type TokenWorld } from '../../support/token-world.js';

let world: TokenWorld;

beforeAll(async () => {
  world = await openTokenWorld();
});

afterAll(async () => {
  await world.close();
});

function encode(value: string | object): string {
  return Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
}

describe('a good token', () => {
  it('is an actor of its provider and subject, with all ten scopes and no restriction', async () => {
    const actor = await world.actorOf(await sign(world.keyOf('k1'), world.claims()));
    expect(actor).toEqual({
      kind: 'token',
      id: 'orcid:alice',
      identities: [{ provider: 'orcid', subject: 'alice' }],
      credentialScopes: expect.anything(),
      namespaceRestrictions: null,
      credentialFingerprint: expect.stringMatching(/^[0-9a-f]{64}$/),
      mayAsk: false,
    });
    expect(carriedNames(actor.credentialScopes, unrestrictedPolicy())).toHaveLength(10);
    for (const part of [actor, actor.identities, actor.identities[0]]) expect(Object.isFrozen(part)).toBe(true);
  });

  test.each<[string, string, object]>([
    ['an RSA key that says nothing of itself', 'rsa', {}],
    ['type JWT', 'k1', { typ: 'JWT' }],
    ['no type', 'k1', { typ: undefined }],
    ['the media type in full', 'k1', { typ: 'application/at+jwt' }],
  ])('may have %s', async (_name, keyId, header) => {
    const actor = await world.actorOf(await sign(world.keyOf(keyId), world.claims(), { ...header }));
    expect(actor.id).toBe('orcid:alice');
  });
});

describe('C06 to C13: header, keys and spelling', () => {
  test.each(['none', 'None', 'nOnE', '', undefined])('C06 algorithm %p, unsigned', async (alg) => {
    const unsigned = `${encode({ alg, kid: 'k1', typ: 'at+jwt' })}.${encode(world.claims())}`;
    for (const signature of ['', 'AA']) expect(await world.refusalOf(`${unsigned}.${signature}`)).not.toBe('accepted');
  });

  test('C07 HMAC with the public key as its secret', async () => {
    const { jwk } = world.keyOf('rsa');
    const key = createPublicKey({ key: { kty: 'RSA', n: jwk.n ?? '', e: jwk.e ?? '' }, format: 'jwk' });
    const pem = key.export({ type: 'spki', format: 'pem' });
    const secrets = [pem, key.export({ type: 'spki', format: 'der' }), JSON.stringify(jwk), ''];
    for (const alg of ['HS256', 'RS256']) {
      for (const secret of secrets) {
        const head = `${encode({ alg, kid: 'rsa', typ: 'at+jwt' })}.${encode(world.claims())}`;
        const mac = createHmac('sha256', secret).update(head).digest('base64url');
        expect(await world.refusalOf(`${head}.${mac}`)).not.toBe('accepted');
      }
    }
  });

  test.each<[string, string, string]>([
    ['C08 an EC signature by the name of an RSA key', 'k1', 'rsa'],
    ['C08 an RSA signature by the name of an EC key', 'rsa', 'k1'],
    ['C08 a key of 1024 bits', 'weak', 'weak'],
    ['C08 a symmetric key of the set', 'k1', 'oct'],
    ['C08 a curve that the algorithm does not have', 'p384', 'p384'],
    ['C08 an algorithm that is not allowed', 'ed', 'ed'],
    ['C09 PS256 with a key that does not say its algorithm', 'pss', 'rsa'],
  ])('%s', async (_name, signer, named) => {
    expect(await world.refusalOf(await sign(world.keyOf(signer), world.claims(), { kid: named }))).not.toBe('accepted');
  });

  test('C09 a header that names another algorithm than the one that signed', async () => {
    const [, payload, signature] = (await sign(world.keyOf('rsa'), world.claims())).split('.');
    const header = encode({ alg: 'ES256', kid: 'rsa', typ: 'at+jwt' });
    expect(await world.refusalOf(`${header}.${String(payload)}.${String(signature)}`)).toBe(
      'signed with a key that the issuer does not publish',
    );
  });

  test('C10 no header leads anywhere: nobody is asked, and the token is refused', async () => {
    const listener = await openIssuer([world.keyOf('theirs').jwk]);
    for (const header of [
      { jku: `${listener.url}/jwks` },
      { x5u: `${listener.url}/chain` },
      { jwk: world.keyOf('theirs').jwk },
      { x5c: ['AAAA'] },
    ]) {
      expect(
        await world.refusalOf(await sign(world.keyOf('theirs'), world.claims(), { ...header, kid: 'k1' })),
      ).toMatch(/^the header has `/);
      expect(await world.refusalOf(await sign(world.keyOf('k1'), world.claims(), header))).toMatch(/^the header has `/);
    }
    expect(listener.asked).toEqual([]);
    await listener.stop();
  });

  test.each<[string, unknown]>([
    ['missing', undefined],
    ['a path', '../../key'],
    ['a quote', "k1' OR '1'='1"],
    ['a prototype', '__proto__'],
    ['with a zero', 'k1\u0000'],
    ['in another case', 'K1'],
    ['very long', 'k'.repeat(6_000)],
    ['a number', 1],
    ['of a different issuer', 'theirs'],
  ])('C11 kid %s', async (_name, kid) => {
    expect(await world.refusalOf(await sign(world.keyOf('k1'), world.claims(), { kid }))).not.toBe('accepted');
    expect(await world.refusalOf(await sign(world.keyOf('theirs'), world.claims(), { kid }))).not.toBe('accepted');
  });

  test('C11 a thousand unknown kids make one more fetch, and none makes it before the pause is over', async () => {
    const authenticator = world.open({ jwksUrl: `${world.issuer.url}/jwks` });
    await world.actorOf(await sign(world.keyOf('k1'), world.claims()), authenticator);
    const before = world.issuer.asked.length;
    const tokens = await Promise.all(
      Array.from({ length: 1_000 }, (_, index) =>
        sign(world.keyOf('k1'), world.claims(), { kid: `k-${String(index)}` }),
      ),
    );
    for (const token of tokens.slice(0, 100))
      expect(await world.refusalOf(token, authenticator)).toBe(
        'signed with a key that the issuer did not publish a moment ago',
      );
    expect(world.issuer.asked.length).toBe(before);
    world.setNow(NOW * 1000 + 10_000);
    await Promise.all(tokens.map((token) => world.refusalOf(token, authenticator)));
    expect(world.issuer.asked.length).toBe(before + 1);
    world.setNow(NOW * 1000);
  });

  test.each<[string, object]>([
    ['crit', { crit: ['x'], x: 1 }],
    ['b64', { b64: false, crit: ['b64'] }],
    ['cty', { cty: 'JWT' }],
    ['enc', { enc: 'A128GCM' }],
    ['zip', { zip: 'DEF' }],
  ])('C12 %s', async (name, more) => {
    const header = encode({ alg: 'ES256', kid: 'k1', typ: 'at+jwt', ...more });
    expect(await world.refusalOf(`${header}.${encode(world.claims())}.AAAA`)).toMatch(
      new RegExp(`^the header has \`(${name}|crit)\``),
    );
  });

  test("C13 an encrypted token is nobody's", async () => {
    const jwe = await new CompactEncrypt(new TextEncoder().encode(JSON.stringify(world.claims())))
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
      .encrypt(new Uint8Array(32));
    expect(world.open().credentialOf({ bearer: jwe, certificate: null, address: '127.0.0.1' })).toBeNull();
    expect(await world.refusalOf(jwe)).toBe(
      'neither an API key, a signed token nor anything else that is accepted here',
    );
  });

  test('C20 one spelling for each token', async () => {
    const token = await sign(world.keyOf('k1'), world.claims());
    const authenticator = world.open();
    expect(await world.refusalOf(token, authenticator)).toBe('accepted');
    const [header = '', payload = '', signature = ''] = token.split('.');
    const altered =
      signature.slice(0, -1) + (signature.endsWith('A') ? 'B' : String.fromCharCode(signature.charCodeAt(85) + 1));
    for (const respelled of [
      `${token}=`,
      `${token}==`,
      `${token}\n`,
      ` ${token}`,
      `${header}.${payload}.${signature.slice(0, 4)} ${signature.slice(4)}`,
      `${header}.${payload}.${altered}`,
      `${header}.${payload}.${signature.replaceAll('-', '+').replaceAll('_', '/')}=`,
      `${token}.`,
      `.${token}`,
    ]) {
      expect(await world.refusalOf(respelled, authenticator)).not.toBe('accepted');
    }
  });
});

describe('D12 the fingerprint of a token', () => {
  const printOf = async (key: IssuerKey, more: Readonly<Record<string, unknown>>): Promise<string | null> =>
    (await world.actorOf(await sign(key, world.claims(more)))).credentialFingerprint;

  test('names the token, not its signature or spelling', async () => {
    // A second signature of the same claims is another text, and the same token.
    for (const more of [{}, { jti: undefined }]) {
      expect(await printOf(world.keyOf('k1'), more)).toBe(await printOf(world.keyOf('k1'), more));
      expect(await printOf(world.keyOf('k1'), more)).toBe(await printOf(world.keyOf('rsa'), more));
    }
  });

  test('differs between any two tokens', async () => {
    const prints = await Promise.all(
      [{}, { jti: 't2' }, { sub: 'bob' }, { jti: undefined }, { jti: '' }, { jti: undefined, exp: NOW + 301 }].map(
        (more) => printOf(world.keyOf('k1'), more),
      ),
    );
    expect(new Set(prints).size).toBe(prints.length);
  });
});

describe('a token that was verified before', () => {
  it('is known again, and ends when it ends', async () => {
    const authenticator = world.open();
    const token = await sign(world.keyOf('k1'), world.claims({ exp: NOW + 10 }));
    const evidence = { bearer: token, certificate: null, address: '127.0.0.1' };
    expect(authenticator.credentialOf(evidence)?.isUnproven).toBe(true);
    const first = await world.actorOf(token, authenticator);
    expect(authenticator.credentialOf(evidence)?.isUnproven).toBe(false);
    expect(await world.actorOf(token, authenticator)).toBe(first);
    world.setNow((NOW + 40) * 1000 - 1);
    expect(await world.refusalOf(token, authenticator)).toBe('accepted');
    world.setNow((NOW + 40) * 1000);
    expect(await world.refusalOf(token, authenticator)).toBe('expired');
    world.setNow(NOW * 1000);
  });

  it('ends with its key, whether that is withdrawn or another one has its name', async () => {
    const [issuer, other] = [await openIssuer(), world.keyOf('theirs')];
    const [mine, renamed] = [world.keyOf('k1'), { ...other.jwk, kid: 'k1' }];
    for (const keys of [[other.jwk], [renamed], []]) {
      world.setNow(NOW * 1000);
      issuer.publish([mine.jwk, other.jwk]);
      const authenticator = world.open({ issuer: issuer.url });
      const token = await sign(mine, world.claims({ iss: issuer.url, exp: NOW + 3_600 }));
      const first = await world.actorOf(token, authenticator);
      expect(await world.actorOf(token, authenticator)).toBe(first);
      issuer.publish(keys);
      world.setNow(NOW * 1000 + 5 * 60_000);
      expect(await world.refusalOf(token, authenticator)).not.toBe('accepted');
    }
    world.setNow(NOW * 1000);
    await issuer.stop();
  });

  it('C21 ends with its revocation', async () => {
    const revoked = new Set<string>();
    const registry = makeRegistry([world.open()], (print) => revoked.has(print));
    const evidence = {
      bearer: await sign(world.keyOf('k1'), world.claims()),
      certificate: null,
      address: '127.0.0.1',
    };
    const at = instantOf(NOW * 1000);
    const { credentialFingerprint } = await registry.credentialOf(evidence).authenticate(at);
    expect((await registry.credentialOf(evidence).authenticate(at)).credentialFingerprint).toBe(credentialFingerprint);
    revoked.add(credentialFingerprint ?? '');
    await expect(registry.credentialOf(evidence).authenticate(at)).rejects.toMatchObject({ code: 'auth.invalid' });
  });

  it.each(['k1', 'rsa'])('costs a look-up, not another signature: %s', async (keyId) => {
    const authenticator = world.open();
    const tokens = await Promise.all(
      Array.from({ length: 600 }, (_, index) => sign(world.keyOf(keyId), world.claims({ jti: `t-${String(index)}` }))),
    );
    const use = async (some: readonly string[]): Promise<number> => {
      const before = process.cpuUsage();
      for (const token of some) await world.actorOf(token, authenticator);
      const { user, system } = process.cpuUsage(before);
      return (user + system) / some.length;
    };
    // In turns, so that whatever else the machine does falls on both; the first turn warms up.
    const turns: (readonly [first: number, second: number])[] = [];
    for (let from = 0; from < tokens.length; from += 60) {
      const some = tokens.slice(from, from + 60);
      turns.push([await use(some), await use(some)]);
    }
    const median = (of: 0 | 1): number =>
      turns
        .slice(1)
        .map((turn) => turn[of])
        .sort((a, b) => a - b)[Math.floor((turns.length - 1) / 2)] ?? 0;
    const [first, second] = [median(0), median(1)];
    process.stdout.write(
      `a token of ${keyId}: first use ${first.toFixed(0)} µs of CPU, second ${second.toFixed(0)} µs, ${(first / second).toFixed(1)} times less\n`,
    );
    expect(first / second).toBeGreaterThan(3);
  });

  it('C27 is not taken for another one that has the same beginning', async () => {
    const authenticator = world.open();
    const token = await sign(world.keyOf('k1'), world.claims());
    await world.actorOf(token, authenticator);
    expect(await world.refusalOf(`${token.slice(0, -4)}AAAA`, authenticator)).toBe('wrong signature');
  });
});

test('a token of jose itself is accepted', async () => {
  const token = await new SignJWT({})
    .setProtectedHeader({ alg: 'ES256', kid: 'k1' })
    .setIssuer(world.issuer.url)
    .setAudience('bailiwick')
    .setSubject('alice')
    .setIssuedAt(NOW)
    .setExpirationTime(NOW + 60)
    .sign(world.keyOf('k1').privateKey);
  expect((await world.actorOf(token)).id).toBe('orcid:alice');
});
