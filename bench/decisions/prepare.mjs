// node prepare.mjs <folder> <grants> <seed> [64] writes a workload into a folder: the policy, its snapshot, the requests, and the
// reference's answer to each. With 64, the policy declares families, up to as many scopes.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compile } from './contestants/own.mjs';
import { withOwnScopes } from './own-scopes.mjs';
import { makeReference } from './reference.mjs';
import { makeWorkload } from './workload.mjs';

const [folder, grants, seed, scopes] = process.argv.slice(2);
const ofTen = makeWorkload(Number(grants), { seed: Number(seed) });
const { policy, requests } = scopes === '64' ? withOwnScopes(ofTen) : ofTen;
const isAllowed = makeReference(policy);
writeFileSync(join(folder, 'policy.json'), JSON.stringify(policy));
writeFileSync(join(folder, 'requests.json'), JSON.stringify(requests));
writeFileSync(
  join(folder, 'verdicts.bin'),
  Uint8Array.from(requests, (request) => (isAllowed(request) ? 1 : 0)),
);
writeFileSync(join(folder, 'snapshot.json'), compile(policy));
