// Two policies with disjoint rights, the records that tell them apart, and the key of an actor. So any answer is right under one policy and
// wrong under the other.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generatePolicy } from '../policies/generate.mjs';
import { run } from './served.mjs';

const SITES = ['/site-0000', '/site-0001'];
const RECORDS = 10;
const ASKS = { family: 'resource', namespace: '/', reach: 'subtree', select: ['namespace'] };

/** Fills a folder and resolves with two snapshots, each `{path, digest}`. Each has `grants` more grants than the questions need. */
export async function compileBoth(folder, { grants, seed }) {
  const compiled = [];
  for (const [index, site] of SITES.entries()) {
    const policy = join(folder, `policy-${index}`);
    if (grants === 0) {
      mkdirSync(policy, { recursive: true });
      writeFileSync(join(policy, 'policy.yaml'), 'bailiwick: 1\nname: small\nproviders: { badge: {} }\n');
    } else generatePolicy(policy, { grants, seed });
    const grant = `{ id: of-the-bench, identity: "badge:bench", namespace: ${site}, scopes: ["resource:read"] }`;
    writeFileSync(join(policy, 'bench.yaml'), `grants:\n  - ${grant}\n`);
    const path = `${policy}.json`;
    const { snapshot } = JSON.parse(await run(['compile', policy, '-o', path, '--format', 'json']));
    compiled.push({ path, digest: snapshot });
  }
  return compiled;
}

/** Stores the records, and makes the key of the actor who asks for them. */
export async function fill(dataDir) {
  const lines = SITES.flatMap((namespace) =>
    Array.from({ length: RECORDS }, (_, index) => JSON.stringify({ family: 'resource', namespace, name: `r${index}` })),
  );
  await run(['load', '-', '--data-dir', dataDir], `${lines.join('\n')}\n`);
  return (await run(['keys', 'create', '--data-dir', dataDir, '--actor', 'bench', '--identity', 'badge:bench'])).trim();
}

/** The question to ask all the time, and a check that an answer is entirely that of the snapshot that it names. */
export function question(snapshots) {
  const namespaceOf = new Map(snapshots.map(({ digest }, index) => [digest, SITES[index]]));
  const isRight = ({ status, snapshot, json }) => {
    const namespace = namespaceOf.get(snapshot);
    return (
      status === 200 &&
      namespace !== undefined &&
      json.snapshot === snapshot &&
      json.items.length === RECORDS &&
      json.items.every((item) => item.namespace === namespace)
    );
  };
  return { body: ASKS, isRight };
}
