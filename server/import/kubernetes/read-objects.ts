// The RBAC objects of Kubernetes in YAML or JSON, also in lists as `kubectl get -o yaml` prints them.
import { ForeignFault, type ForeignFile, type SourcePlace } from '../imported-policy.js';
import { type DocumentFields, isFields, listOf, readDocuments, textOf, textsOf } from '../read-documents.js';

export interface RbacRule {
  readonly place: SourcePlace;
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames: readonly string[];
  readonly nonResourceUrls: readonly string[];
}

export interface RbacRole {
  readonly kind: 'Role' | 'ClusterRole';
  readonly place: SourcePlace;
  readonly name: string;
  /** Null for a ClusterRole, and for a Role whose file does not name one. */
  readonly namespace: string | null;
  readonly rules: readonly RbacRule[];
  /** Where its rules are said to follow those of other roles, by labels. */
  readonly aggregation: SourcePlace | null;
}

export interface RbacSubject {
  readonly place: SourcePlace;
  readonly kind: 'User' | 'Group' | 'ServiceAccount';
  readonly name: string;
  /** Of a service account. */
  readonly namespace: string;
}

export interface RbacBinding {
  readonly kind: 'RoleBinding' | 'ClusterRoleBinding';
  readonly place: SourcePlace;
  readonly name: string;
  readonly namespace: string | null;
  readonly role: { readonly kind: string; readonly name: string; readonly place: SourcePlace };
  readonly subjects: readonly RbacSubject[];
}

export interface RbacObjects {
  readonly roles: readonly RbacRole[];
  readonly bindings: readonly RbacBinding[];
  /** Objects of other kinds. */
  readonly others: number;
}

interface Part {
  readonly value: unknown;
  readonly placeOf: (path: readonly (string | number)[]) => SourcePlace;
}

/** Throws `ForeignFault`. */
export function readObjects(files: readonly ForeignFile[]): RbacObjects {
  const roles: RbacRole[] = [];
  const bindings: RbacBinding[] = [];
  const seen = new Map<string, SourcePlace>();
  let others = 0;
  for (const part of files.flatMap(readDocuments).flatMap(itemsOf)) {
    const place = part.placeOf([]);
    if (!isFields(part.value)) throw new ForeignFault(place, 'is not an object of Kubernetes');
    const { apiVersion, kind } = part.value;
    const isRbac = typeof apiVersion === 'string' && apiVersion.startsWith('rbac.authorization.k8s.io/');
    if (isRbac && (kind === 'Role' || kind === 'ClusterRole')) roles.push(readRole(part, part.value, kind));
    else if (isRbac && (kind === 'RoleBinding' || kind === 'ClusterRoleBinding'))
      bindings.push(readBinding(part, part.value, kind));
    else {
      others += 1;
      continue;
    }
    const { name, namespace } = nameOf(part, part.value, kind.startsWith('Cluster'));
    const key = JSON.stringify([kind, namespace, name]);
    const before = seen.get(key);
    if (before !== undefined)
      throw new ForeignFault(place, `${kind} ${name} is also in ${before.file}:${String(before.line)}`);
    seen.set(key, place);
  }
  return { roles, bindings, others };
}

function itemsOf(part: Part): readonly Part[] {
  const { value } = part;
  if (!isFields(value) || typeof value['kind'] !== 'string' || !value['kind'].endsWith('List')) return [part];
  return listOf(value['items'], part.placeOf(['items']), '`items`').flatMap((item, i) =>
    itemsOf({ value: item, placeOf: (path) => part.placeOf(['items', i, ...path]) }),
  );
}

function nameOf(
  part: Part,
  { metadata }: DocumentFields,
  isCluster: boolean,
): { readonly name: string; readonly namespace: string | null } {
  const place = part.placeOf(['metadata']);
  if (!isFields(metadata)) throw new ForeignFault(place, '`metadata` is missing');
  const namespace = metadata['namespace'];
  return {
    name: textOf(metadata['name'], place, '`metadata.name`'),
    namespace: isCluster || namespace === undefined ? null : textOf(namespace, place, '`metadata.namespace`'),
  };
}

function readRole(part: Part, value: DocumentFields, kind: RbacRole['kind']): RbacRole {
  const rules = listOf(value['rules'], part.placeOf(['rules']), '`rules`').map((rule, i) => {
    const place = part.placeOf(['rules', i]);
    if (!isFields(rule)) throw new ForeignFault(place, 'a rule must be a mapping');
    const texts = (key: string): readonly string[] => textsOf(rule[key], place, `\`${key}\``);
    return {
      place,
      apiGroups: texts('apiGroups'),
      resources: texts('resources'),
      verbs: texts('verbs'),
      resourceNames: texts('resourceNames'),
      nonResourceUrls: texts('nonResourceURLs'),
    };
  });
  const aggregated = value['aggregationRule'] !== undefined && value['aggregationRule'] !== null;
  return {
    kind,
    place: part.placeOf([]),
    ...nameOf(part, value, kind === 'ClusterRole'),
    rules,
    aggregation: aggregated ? part.placeOf(['aggregationRule']) : null,
  };
}

function readBinding(part: Part, value: DocumentFields, kind: RbacBinding['kind']): RbacBinding {
  const at = part.placeOf(['roleRef']);
  const roleRef = value['roleRef'];
  if (!isFields(roleRef)) throw new ForeignFault(at, '`roleRef` is missing');
  const subjects = listOf(value['subjects'], part.placeOf(['subjects']), '`subjects`').map(
    (subject, i): RbacSubject => {
      const place = part.placeOf(['subjects', i]);
      if (!isFields(subject)) throw new ForeignFault(place, 'a subject must be a mapping');
      const subjectKind = subject['kind'];
      if (subjectKind !== 'User' && subjectKind !== 'Group' && subjectKind !== 'ServiceAccount')
        throw new ForeignFault(place, 'the `kind` of a subject must be User, Group or ServiceAccount');
      const namespace =
        subjectKind === 'ServiceAccount' ? (subject['namespace'] ?? nameOf(part, value, false).namespace) : '';
      return {
        place,
        kind: subjectKind,
        name: textOf(subject['name'], place, '`name`'),
        namespace: textOf(namespace, place, '`namespace` of a service account'),
      };
    },
  );
  return {
    kind,
    place: part.placeOf([]),
    ...nameOf(part, value, kind === 'ClusterRoleBinding'),
    role: {
      kind: textOf(roleRef['kind'], at, '`roleRef.kind`'),
      name: textOf(roleRef['name'], at, '`roleRef.name`'),
      place: at,
    },
    subjects,
  };
}
