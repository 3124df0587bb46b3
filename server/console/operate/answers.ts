// What the admin listener answers: the types of its schemas (docs/admin.md).
import type { SNAPSHOTS_SCHEMA, STATUS_SCHEMA } from '../../api/admin-schemas.js';
import type { PROBLEM_SCHEMA } from '../../api/answer-schemas.js';
import type { CHAIN_SCHEMA, EVENTS_SCHEMA } from '../../api/audit-schemas.js';
import type { TypeOf } from '../../api/schema.js';
import type { SHADOW_SCHEMA } from '../../api/shadow-schemas.js';

export type Status = TypeOf<typeof STATUS_SCHEMA>;
export type StoredSnapshot = TypeOf<typeof SNAPSHOTS_SCHEMA>['snapshots'][number];
export type ShadowAnswer = TypeOf<typeof SHADOW_SCHEMA>;
export type Candidate = Extract<ShadowAnswer, { readonly live: unknown }>;
export type FoundEvents = TypeOf<typeof EVENTS_SCHEMA>;
export type LogEvent = FoundEvents['events'][number];
export type EventAccess = NonNullable<LogEvent['access']>;
export type ChainState = TypeOf<typeof CHAIN_SCHEMA>;
/** RFC 9457, with the members of ours; nothing is sure of what another program answers. */
export type Problem = Partial<TypeOf<typeof PROBLEM_SCHEMA>>;
