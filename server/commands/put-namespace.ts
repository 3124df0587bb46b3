// Ensures that a namespace exists with this content. If it does not exist, it is created below an existing namespace.
import { lineageOf, type NamespacePath, type Request } from '../../engine/index.js';
import type { RecordFields } from '../api/dataset-schema.js';
import { askedOf } from '../audit/event.js';
import { sql } from '../db/sql.js';
import { ApiProblem } from '../problem.js';
import { contentOf } from '../records/content.js';
import type { Command, Done, Perform, Session } from './command.js';
import { assertOpen, assertRoom } from './references.js';
import { mayRead, mustAllow } from './rules.js';
import { byPath, insertRecord, readGround, readRecord } from './stored.js';

export interface Putting {
  readonly id: string;
  readonly namespace: NamespacePath;
  readonly fields: RecordFields;
}

export function putNamespace(putting: Putting): Command {
  const request: Request = { kind: 'create-namespace', namespace: putting.namespace };
  return {
    operation: 'namespace.create',
    prepare: () =>
      Promise.resolve({
        asked: askedOf(request),
        rule: mustAllow(request),
        look: (session) => look(session, putting),
      }),
  };
}

/**
 * An actor who may not read the namespace does not learn whether it existed: its parents are checked first, then it is
 * created if possible, and the answer is the same.
 */
async function look(session: Session, putting: Putting): Promise<Perform> {
  const { namespace } = putting;
  const isTold = mayRead(session.judge, 'namespace', namespace);
  const above = lineageOf(namespace).filter((path) => path !== namespace);
  const [found, ground] = await Promise.all([
    isTold ? findPut(session, putting) : null,
    readGround(session, { namespaces: above, ids: [] }),
  ]);
  return async () => {
    assertRoom(putting.fields);
    if (found !== null) return asPut(session, namespace, found);
    assertOpen(ground, above.at(-1) ?? namespace);
    return put(session, putting, isTold);
  };
}

async function put(session: Session, putting: Putting, isTold: boolean): Promise<Done> {
  const { id, namespace, fields } = putting;
  const content = { ...contentOf('namespace', fields), name: namespace };
  const written = await insertRecord(session, { id, family: 'namespace', namespace, content, copiedFrom: null }, []);
  if (written !== null) return { status: 201, family: 'namespace', namespace, ...written, untold: 'namespace' };
  const found = isTold ? await findPut(session, putting) : null;
  return found === null ? asItIs(session, namespace) : asPut(session, namespace, found);
}

interface FoundPut {
  /** Whether it already has exactly this content. */
  readonly same: boolean;
}

async function findPut(session: Session, { namespace, fields }: Putting): Promise<FoundPut | null> {
  const { description, properties } = contentOf('namespace', fields);
  const [found] = await session.rows<FoundPut>(
    sql`SELECT x.description IS NOT DISTINCT FROM ${description}::text AND x.properties = ${properties}::jsonb AS same
      FROM records AS x WHERE ${byPath(namespace)}`,
  );
  return found ?? null;
}

function asPut(session: Session, namespace: NamespacePath, { same }: FoundPut): Promise<Done> {
  if (!same) throw new ApiProblem('record.conflict');
  return asItIs(session, namespace);
}

async function asItIs(session: Session, namespace: NamespacePath): Promise<Done> {
  const done = await readRecord(session, { family: 'namespace', namespace }, byPath(namespace));
  return { ...done, untold: 'namespace' };
}
