// What services ask about many at once (docs/asking.md): who may, what somebody may, what somebody sees. Lists are
// answered in pages and counted whole.
import { ASK_LIMITS } from '../limits/http.js';
import { digest, identity, scope } from './answer-schemas.js';
import { SUBJECT } from './ask-schema.js';
import { type BodyShape, bodyShape, shapeOf } from './body-shape.js';
import { instant, namespacePath, reachName } from './record-schema.js';
import { closed, count, schema, text, type TypeOf, whole } from './schema.js';

const page = schema({
  title: 'ListPage',
  type: 'object',
  properties: {
    size: { type: 'integer', minimum: 0, maximum: ASK_LIMITS.pageSize },
    after: { type: ['string', 'null'] },
  },
  additionalProperties: false,
});

export type PageAsked = TypeOf<typeof page>;

const WHO_CAN = schema({
  title: 'WhoCan',
  ...closed(['scope', 'namespace'], { scope, namespace: text, page }),
});

const WHAT_CAN = schema({
  title: 'WhatCan',
  ...closed(['identity'], { identity: { anyOf: [text, identity] }, page }),
});

const VISIBLE = schema({
  title: 'VisibleTo',
  ...closed(['actor', 'family', 'namespace'], {
    actor: SUBJECT,
    family: text,
    action: text,
    namespace: text,
    reach: reachName,
    page,
  }),
});

export type WhoCanBody = TypeOf<typeof WHO_CAN>;
export type WhatCanBody = TypeOf<typeof WHAT_CAN>;
export type VisibleBody = TypeOf<typeof VISIBLE>;

export const WHO_CAN_SHAPE = shapeOf(WHO_CAN);
export const WHAT_CAN_SHAPE = shapeOf(WHAT_CAN);
/** The actor is read by decide-question.ts. */
export const VISIBLE_SHAPE: BodyShape<VisibleBody> = {
  ...bodyShape<VisibleBody>({ ...VISIBLE, properties: { ...VISIBLE.properties, actor: { type: 'object' } } }),
  document: VISIBLE,
};

/** A grant as somebody holds it. */
export const GRANT_REF = schema({
  title: 'HeldGrant',
  ...closed(['id'], {
    id: text,
    file: text,
    line: { type: 'integer', minimum: 1 },
    reason: { description: 'What the policy says about the grant.', ...text },
    through: {
      description: 'A shortest chain of roles from the identity to the role of the grant.',
      type: 'array',
      items: {
        title: 'RoleLink',
        ...closed(['role'], {
          role: text,
          file: text,
          line: { type: 'integer', minimum: 1 },
          description: { description: 'What the policy says about the role.', ...text },
          notBefore: { description: 'When the membership begins; absent where it is open.', ...text },
          expires: { description: 'When the membership ends; absent where it is open.', ...text },
        }),
      },
    },
  }),
});

const PAGED = Object.freeze({
  count: { description: 'Of all pages.', ...count },
  page: {
    title: 'ListPageEnd',
    ...whole({
      size: { type: 'integer', minimum: 0, maximum: ASK_LIMITS.pageSize },
      next: {
        description: 'Send it as `page.after` for the next page. Null on the last one.',
        type: ['string', 'null'],
      },
    }),
  },
});

export const HOLDERS_SCHEMA = schema({
  title: 'Holders',
  ...whole({
    scope,
    namespace: namespacePath,
    at: instant,
    snapshot: digest,
    identities: {
      type: 'array',
      items: { title: 'Holder', ...whole({ identity: text, grants: { type: 'array', items: GRANT_REF } }) },
    },
    ...PAGED,
  }),
});

export const HELD_SCHEMA = schema({
  title: 'Held',
  ...whole({
    identity: text,
    at: instant,
    snapshot: digest,
    access: {
      type: 'array',
      items: {
        title: 'HeldRegion',
        ...closed(['namespace', 'extent', 'scopes', 'grants'], {
          namespace: namespacePath,
          extent: { title: 'Extent', enum: ['exact', 'below', 'subtree'] },
          except: { description: 'Subtrees that are left out.', type: 'array', items: namespacePath },
          scopes: { type: 'array', items: scope },
          grants: { type: 'array', items: GRANT_REF },
        }),
      },
    },
    ...PAGED,
  }),
});

const SEEN = Object.freeze({
  kind: { enum: ['none', 'all', 'some'] },
  step: { description: 'Of `none`: the step that failed.', type: 'string' },
  exact: { type: 'array', items: namespacePath },
  subtrees: { type: 'array', items: namespacePath },
  at: instant,
  snapshot: digest,
  ...PAGED,
} as const);

export const VISIBLE_SCHEMA = schema({
  title: 'VisibleNamespaces',
  ...closed(['kind', 'exact', 'subtrees', 'at', 'snapshot', 'count', 'page'], SEEN),
});
