// Cases that the means do not cover: visible sets of namespaces instead of subtrees, other families, archived records, and the default
// order. Our queries are compared with the same rows from a table that holds nothing else.
import { agree, contender, prepared } from './contest.mjs';
import { interleave, loadNow, median, say, short } from '../rows.mjs';
import { ourStatement, physStatement, preparePhys, visibleOf } from './statements.mjs';

const NEWEST = { orderBy: [{ createdAt: 'desc' }], order: 'x.created_at DESC, x.id' };
const BY_ID = { order: 'x.id' };

/** Deeper than any visible set needs to be. */
const DEEP = 5;

function casesOf({ namespaces, sets }) {
  const deep = namespaces.find((path) => path.split('/').length > DEEP) ?? namespaces[0];
  const [largest] = namespaces;
  const ten = sets.findLast(({ roots }) => roots.length <= 10).roots;
  const lineage = { kind: 'some', exact: lineageOf(deep), subtrees: [] };
  const exact = { kind: 'some', exact: [largest], subtrees: [] };
  const subtrees = visibleOf(ten);
  const within = `${ten.length} roots`;
  return [
    { name: `newest in a lineage of ${lineage.exact.length}`, visible: lineage, ...NEWEST },
    { name: 'process runs of one namespace, newest', visible: exact, family: 'process-run', ...NEWEST },
    { name: 'process runs of one namespace, by id', visible: exact, family: 'process-run', ...BY_ID },
    { name: `by id, ${within}`, visible: subtrees, ...BY_ID },
    { name: `newest with archived ones, ${within}`, visible: subtrees, includeArchived: true, ...NEWEST },
    { name: `newest process templates, ${within}`, visible: subtrees, family: 'process-template', ...NEWEST },
  ];
}

function lineageOf(path) {
  const parts = path.split('/').slice(1);
  return ['/', ...parts.map((_, index) => `/${parts.slice(0, index + 1).join('/')}`)];
}

const CODES = new Map([
  ['resource', 2],
  ['process-template', 3],
  ['process-run', 4],
]);

export async function measureBeside({ run, client, own, db, secret, settings, cases }, world) {
  for (const { name, visible, family = 'resource', includeArchived = false, orderBy = [], order } of casesOf(world)) {
    // The visible set already reflects the query's context and reach.
    const envelope = { family, namespace: '/', orderBy, includeArchived };
    const query = { name, kind: 'query', envelope, order };
    await preparePhys(
      run,
      visible,
      `x.family = ${CODES.get(family)}${includeArchived ? '' : ' AND x.archived_at IS NULL'}`,
    );
    const ours = await ourStatement(db, { query, envelope, visible, secret, actorId: 'beside' });
    const contenders = [
      contender('phys', prepared(client), physStatement({ query })),
      contender('ours', prepared(own), ours),
    ];
    await agree(contenders, name);
    const times = await interleave(contenders, { milliseconds: settings.seconds * 200, atLeast: 3, atMost: 25 });
    const { rows } = await run('SELECT count(*) AS count FROM phys');
    const [phys, our] = times.map(median);
    const known = { beside: true, roots: (visible.exact ?? []).length + (visible.subtrees ?? []).length };
    const n = { phys: times[0].length, ours: times[1].length };
    const milliseconds = { phys, ours: our };
    cases.push({ query: name, ...known, visible: Number(rows[0].count), load: loadNow()[0], milliseconds, n });
    say(`${name}  ${rows[0].count} visible  phys ${short(phys)}  ours ${short(our)} ms`);
  }
}
