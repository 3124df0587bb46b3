// GET of one record, by its id or (for a namespace) by its path. Archived records stay readable. `Range` is ignored:
// the answer is the whole record, or 304 if `If-None-Match` names its revision.
import { FAMILIES, type Family } from '../../../engine/index.js';
import { RECORD_SCHEMAS } from '../../api/record-schema.js';
import type { Database } from '../../db/database.js';
import { ApiProblem } from '../../problem.js';
import { findNamespace, findRecord, type FoundRecord, namespaceOfRecord } from '../../query/find-record.js';
import { rowPredicate } from '../../query/row-predicate.js';
import type { JsonAnswer } from '../exchange.js';
import { namespaceRoute, type Output, recordRoute, type Route } from '../route.js';
import { collectionOf, words } from './names.js';

export function makeRecordRoutes(db: Database): readonly Route[] {
  const byPath = namespaceRoute({
    method: 'GET',
    path: '/api/v1/namespaces{path}',
    operationId: 'getNamespace',
    summary: 'Read a namespace by its path',
    problems: ['namespace.not_found'],
    output: outputOf('namespace'),
    answer: async ({ visible, gone }) => {
      const found = await findNamespace(db, rowPredicate(visible), gone);
      if (found === null) throw new ApiProblem('namespace.not_found');
      const { id: ids } = found;
      return { ...whole(found), shown: { items: 1, ids } };
    },
  });
  const byId = FAMILIES.filter((family) => family !== 'namespace').map((family) =>
    recordRoute({
      method: 'GET',
      path: `${collectionOf(family)}/{id}`,
      operationId: `get${RECORD_SCHEMAS[family].title}`,
      summary: `Read a ${words(family)} by its id`,
      example: EXAMPLES[family],
      output: outputOf(family),
      family,
      locate: (id, gone) => namespaceOfRecord(db, { family, id }, gone),
      answer: async ({ visible, gone }, id) => {
        const found = await findRecord(db, { predicate: rowPredicate(visible), family, id, signal: gone });
        return found === null ? null : whole(found);
      },
    }),
  );
  return [byPath, ...byId];
}

/** Records of the demo that Ines may read. */
const EXAMPLES = Object.freeze({
  'resource-template': '0196d778-7dd6-750a-bb77-0fcd6805252f',
  resource: '0197bc63-6539-7ccb-b217-d1b0f3fab080',
  'process-template': '019d939e-a36b-7386-a113-03ca7d04b787',
  'process-run': 'f8c80a5e-3868-8368-8f48-6b02d6933e57',
} satisfies Readonly<Record<Exclude<Family, 'namespace'>, string>>);

function outputOf(family: Family): Output {
  return { 200: { type: 'application/json', schema: RECORD_SCHEMAS[family], headers: ['ETag'] } };
}

/** The revision is a strong validator, because every change of a record raises it. */
function whole({ json, revision }: FoundRecord): JsonAnswer {
  return { status: 200, json, headers: ['ETag', `"${String(revision)}"`], shown: { items: 1 } };
}
