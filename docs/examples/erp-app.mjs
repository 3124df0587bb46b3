// An ERP of one table. Whoever may do what with an invoice stands in the policy; which invoices there are stands in the table.
import express from 'express';
import { ALL_SCOPES, canonicalize, decide, instantOf, visibility } from 'bailiwick';
import { visibleWhere } from 'bailiwick/sql/pg';

/** `policy` is loaded by `loadSnapshot`. `identitiesOf` gives the identities of whoever signed in, with all groups. */
export function makeApp({ policy, db, identitiesOf, now = Date.now }) {
  const app = express().use(express.json());

  app.use((request, response, next) => {
    const identities = identitiesOf(request);
    const actor = { kind: 'request', identities, credentialScopes: ALL_SCOPES, namespaceRestrictions: null };
    // One clock for all questions of a request.
    response.locals = { actor, at: instantOf(now()) };
    next();
  });

  const judge = ({ locals: { actor, at } }, action, namespace) => {
    const request = { kind: 'access', scope: `invoice:${action}`, context: namespace, target: namespace };
    return decide(policy, { actor, request, at });
  };

  app.get('/invoices', async ({ query: { at: place = '/', may = 'read' } }, response) => {
    const { actor, at } = response.locals;
    const context = canonicalize(place);
    if (!context.ok) return response.status(400).json({ error: 'no namespace' });
    const request = { family: 'invoice', action: may, context: context.path, reach: 'subtree' };
    const seen = visibility(policy, { actor, request, at });
    if (seen.kind === 'none') return response.status(403).json({ step: seen.step });
    // The database gives rows that may be seen, and no others.
    const { text, values } = visibleWhere(seen, 'namespace');
    const found = await db.query(`select id, namespace, amount, state from invoices where ${text} order by id`, values);
    response.json(found.rows);
  });

  app.post('/invoices', async ({ body: { namespace, amount } }, response) => {
    const place = canonicalize(namespace);
    if (!place.ok || !Number.isInteger(amount)) return response.status(400).json({ error: 'no invoice' });
    const { decision, step } = judge(response, 'write', place.path);
    if (decision === 'deny') return response.status(403).json({ step });
    const made = await db.query('insert into invoices (namespace, amount) values ($1, $2) returning id', [
      place.path,
      amount,
    ]);
    response.status(201).json(made.rows[0]);
  });

  // entered -> approved -> paid. Who may not read an invoice learns nothing of it.
  const step = { approve: ['entered', 'approved'], pay: ['approved', 'paid'] };
  app.post('/invoices/:id/:action', async ({ params: { id, action } }, response) => {
    const found = /^\d{1,9}$/.test(id)
      ? await db.query('select namespace from invoices where id = $1', [id])
      : { rows: [] };
    const namespace = found.rows[0]?.namespace;
    if (
      !Object.hasOwn(step, action) ||
      namespace === undefined ||
      judge(response, 'read', namespace).decision === 'deny'
    )
      return response.status(404).json({ error: 'no such invoice' });
    const { decision, step: failed, grants } = judge(response, action, namespace);
    if (decision === 'deny') return response.status(403).json({ step: failed });
    const [from, to] = step[action];
    const changed = await db.query('update invoices set state = $1 where id = $2 and state = $3 returning id', [
      to,
      id,
      from,
    ]);
    if (changed.rows.length === 0) return response.status(409).json({ error: `the invoice is not ${from}` });
    response.json({ state: to, by: grants.map((grant) => grant.id) });
  });
  return app;
}
