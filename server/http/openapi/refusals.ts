// Which problems a route can answer with. This follows from what the route declares, because the pipeline uses the same
// values.
import { PROBLEMS, type ProblemCode } from '../../problem.js';
import type { NamedHeader, Route } from '../route.js';

/** Refusals that any request can get, before its route is known or on any route. */
const EVERY: readonly ProblemCode[] = [
  'request.malformed',
  'request.schema',
  'request.timeout',
  'request.uri_too_long',
  'request.encoding',
  'request.host',
  'limit.rate',
  'request.headers_too_large',
  'internal',
  'overloaded',
  'starting',
  'shutting_down',
];

const UPLOAD: readonly ProblemCode[] = ['request.too_large', 'request.media_type'];
const BODY: readonly ProblemCode[] = [
  'request.duplicate_key',
  'request.forbidden_key',
  'request.invalid_unicode',
  'request.too_deep',
  ...UPLOAD,
];

/** Authentication reads the store, so a failure of the store is among these. */
const CREDENTIAL: readonly ProblemCode[] = ['auth.required', 'auth.invalid', 'db.unavailable', 'db.timeout'];
/** Actors may have credentials of other issuers, who have to be asked. */
const POLICY: readonly ProblemCode[] = [...CREDENTIAL, 'auth.unavailable', 'snapshot.unavailable', 'snapshot.expired'];
const RECORDED: readonly ProblemCode[] = [...POLICY, 'audit.unavailable'];

const ACCESS: Readonly<Record<Route['access'], readonly ProblemCode[]>> = {
  health: [],
  public: [],
  self: POLICY,
  visibility: [...RECORDED, 'authz.denied'],
  record: [...RECORDED, 'record.not_found'],
  command: [...RECORDED, 'authz.denied'],
  ask: [...RECORDED, 'authz.asker'],
  admin: CREDENTIAL,
  status: CREDENTIAL,
};

const HEADER: Readonly<Record<NamedHeader, readonly ProblemCode[]>> = {
  'if-match': ['request.precondition_required'],
  'idempotency-key': [],
  'if-none-match': [],
};

export interface DescribedRefusal {
  readonly status: number;
  /** In the order of the table of problems. */
  readonly problems: readonly { readonly code: ProblemCode; readonly title: string }[];
}

/** The refusals of a route, in ascending order of status. */
export function refusalsOf(route: Route): readonly DescribedRefusal[] {
  const codes: ReadonlySet<string> = new Set([
    ...EVERY,
    ...ACCESS[route.access],
    ...(route.input.body === undefined ? [] : BODY),
    ...(route.input.upload === undefined ? [] : UPLOAD),
    ...(route.input.headers ?? []).flatMap((name) => HEADER[name]),
    ...(route.path.includes('{path}') ? (['namespace.invalid'] as const) : []),
    ...(route.problems ?? []),
  ]);
  const found = PROBLEMS.filter(({ code }) => codes.has(code));
  const statuses = [...new Set(found.map(({ status }) => status))].sort((a, b) => a - b);
  return statuses.map((status) => ({ status, problems: found.filter((problem) => problem.status === status) }));
}
