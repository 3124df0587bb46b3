// Many versions of a policy, read one after another: remembering what has not changed changes nothing of what is read and reported.
import { expect, it } from '@jest/globals';
import { type PolicyReading, readPolicy, rememberingReader, type SourceFile } from '../../../engine/compiler.js';

const file = (path: string, text: string): SourceFile => ({ path, bytes: new TextEncoder().encode(text) });
const header = (families = ''): SourceFile =>
  file('policy.yaml', `bailiwick: 1\nname: x\nproviders: { github: {} }\n${families}`);
const grant = (scope: string): SourceFile =>
  file('a.yaml', `grants: [{ id: a, identity: "github:ann", namespace: /, scopes: ["${scope}"] }]\n`);
const roles = file('b.yaml', 'roles: { crew: { members: ["github:bob"] } }\n');
const INVOICES = 'families: { invoice: { actions: [pay] } }\n';

const VERSIONS: readonly (readonly SourceFile[])[] = [
  [header(), grant('resource:read'), roles],
  [header(), grant('resource:write'), roles],
  // The same file is right or wrong by what `policy.yaml` declares.
  [header(), grant('invoice:pay'), roles],
  [header(INVOICES), grant('invoice:pay'), roles],
  [header(), grant('invoice:pay'), roles],
  [header(), grant('nonsense'), roles],
  [header(), grant('nonsense'), roles],
  [header(), roles],
  [file('policy.yaml', 'bailiwick: 1\n'), grant('invoice:pay'), roles],
  [grant('invoice:pay'), roles],
  [header(INVOICES), grant('invoice:pay'), roles, { path: 'c.yaml', bytes: new Uint8Array([0xff]) }],
  [header(INVOICES), grant('invoice:pay'), roles],
];

/** All of it as data: names are made when they are first asked for. */
const said = ({ names, ...rest }: PolicyReading): object => ({ ...rest, names: names() });

it('reads each version as if it were the only one, in any order', () => {
  for (const versions of [VERSIONS, [...VERSIONS].reverse()]) {
    const read = rememberingReader();
    for (const files of versions) {
      const fresh = files.map((one) => ({ ...one, bytes: Uint8Array.from(one.bytes) }));
      expect(said(readPolicy(files, undefined, read))).toEqual(said(readPolicy(fresh)));
      expect(said(readPolicy(fresh, undefined, read))).toEqual(said(readPolicy(files)));
    }
  }
  const valid = VERSIONS.map((files) => readPolicy(files).policy !== null);
  expect(valid).toContain(true);
  expect(valid).toContain(false);
});
