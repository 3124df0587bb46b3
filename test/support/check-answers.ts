// A process that judges answers of a gateway, each only by the snapshot that it names and independently of the gateway:
// `node check-answers.js <answers.jsonl> <snapshot> <snapshot>…`. Prints how many there were of each kind, how many requests a
// busy gateway refused (503, 504), and the first wrong answers.
import { createReadStream, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { answerLine } from '../../server/asking/decide-line.js';
import { instantOf, loadSnapshot, type Policy } from '../../engine/index.js';
import { type Answered, FIXED, PLACES } from './soak-world.js';

const [file = '', ...paths] = process.argv.slice(2);
const policies = new Map<string, Policy>();
for (const path of paths) {
  const loaded = loadSnapshot(readFileSync(path));
  if (!loaded.ok) throw new Error(`${path}: ${loaded.fault.code}`);
  policies.set(loaded.policy.digest, loaded.policy);
}

const decided = new Map<string, boolean>();
const at = instantOf(Date.now());

function isAllowed({ snapshot, actor }: Answered, scope: string, context: string, target = context): boolean {
  const key = [snapshot, actor, scope, context, target].join(' ');
  const known = decided.get(key);
  if (known !== undefined) return known;
  const policy = policies.get(snapshot);
  if (policy === undefined) throw new Error(`an answer names ${snapshot}, which was never offered`);
  const line = {
    ...{ id: 1, actor: { identities: [{ provider: 'orcid', subject: actor }] } },
    request: { kind: 'access', scope, context, target },
  };
  const answer = answerLine(policy, Buffer.from(JSON.stringify(line)), at);
  if (!('decision' in answer)) throw new Error(JSON.stringify(answer));
  decided.set(key, answer.decision === 'allow');
  return answer.decision === 'allow';
}

const isBelow = (place: string, root: string): boolean => place === root || place.startsWith(`${root}/`);

/** Status and ids of the answer as the snapshot wants them. */
function wanted(answered: Answered): string {
  const { asked } = answered;
  switch (asked.kind) {
    case 'create':
      return isAllowed(answered, 'resource:write', asked.namespace) ? '201' : '403';
    case 'read': {
      const place = FIXED.find(({ id }) => id === asked.id)?.namespace ?? '';
      return isAllowed(answered, 'resource:read', place) ? `200 ${asked.id}` : '404';
    }
    case 'list':
    case 'count': {
      const { namespace, reach } = asked;
      const places = PLACES.filter((place) =>
        reach === 'subtree' ? isBelow(place, namespace) : isBelow(namespace, place),
      );
      // What is below is not in the lineage of what is above: it is seen where it is.
      const seen = places.filter((place) =>
        isAllowed(answered, 'resource:read', reach === 'subtree' ? place : namespace, place),
      );
      if (seen.length === 0) return '403';
      const ids = FIXED.filter((record) => seen.includes(record.namespace)).map(({ id }) => id);
      return asked.kind === 'count' ? `200 ${String(ids.length)}` : `200 ${ids.sort().join(',')}`;
    }
  }
}

const counts = new Map<string, number>();
const wrong: string[] = [];
let refused = 0;
for await (const line of createInterface({ input: createReadStream(file) })) {
  const answered = JSON.parse(line) as Answered;
  if (answered.got === '503' || answered.got === '504') {
    refused += 1;
    continue;
  }
  const kind = `${answered.asked.kind} ${answered.got.slice(0, 3)}`;
  counts.set(kind, (counts.get(kind) ?? 0) + 1);
  const expected = wanted(answered);
  if (answered.got !== expected && wrong.length < 10) wrong.push(`${line} is not ${expected}`);
}
process.stdout.write(`${JSON.stringify({ counts: Object.fromEntries(counts), refused, wrong })}\n`);
