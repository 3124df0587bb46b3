// The RBAC model of casbin as a policy: a role is a role, an object is a namespace of its own, and each action is one of the family `object`.
import { makeIdentity } from '../../../engine/index.js';
import {
  type ForeignFile,
  type ImportedGrant,
  type ImportedMember,
  type ImportedPolicy,
  type ImportQuestion,
  type SourcePlace,
  type Unsaid,
} from '../imported-policy.js';
import { type Actions, makeActions, requireFewScopes } from '../make-actions.js';
import { makeNames } from '../make-names.js';
import { makePlaces, type NamespaceMaker } from '../make-places.js';
import { makeMembers, namedRoles } from '../role-members.js';
import { enforcerFor, indexRules } from './enforce.js';
import { type CasbinRules, readCasbin } from './read-casbin.js';

const PROVIDER = 'casbin';
const FAMILY = 'object';
/** Somebody and something that no line names: a rule that is too wide shows there. */
const STRANGER = 'bailiwick:nobody';
const ELSEWHERE = 'bailiwick:nothing';

/** Throws `ForeignFault`. */
export function importCasbin(files: readonly ForeignFile[]): ImportedPolicy {
  const rules = readCasbin(files);
  const members = makeMembers(
    rules.links.map((link) => ({ ...link, rule: `g, ${link.member}, ${link.role}` })),
    (name) => makeIdentity(PROVIDER, name),
  );
  const unsaid: Unsaid[] = [...rules.unsaid, ...members.unsaid];
  const names = makeNames();
  const { roles, named } = namedRoles(members, names.of, (role) => `The role ${role}`);
  const places = makePlaces([...rules.permissions.map(({ object }) => object), ELSEWHERE]);
  const actions = makeActions(
    FAMILY,
    rules.permissions.map(({ action }) => action),
  );
  const families = actions.family === null ? [] : [actions.family];
  requireFewScopes(families);
  const grants = new Map<string, Granted>();
  for (const { subject, object, action, effect, file, line } of rules.permissions) {
    const rule = `p, ${subject}, ${object}, ${action}${effect === 'deny' ? ', deny' : ''}`;
    const namespace = places.of(object);
    const to = members.partyOf(subject);
    if (effect === 'deny')
      unsaid.push({
        file,
        line,
        rule,
        why:
          rules.denials === 'count'
            ? 'grants only add rights, and nothing can take away what another line allows'
            : 'the effect of the model asks only for a line that allows, so it denies nothing',
      });
    else if (namespace === null) unsaid.push({ file, line, rule, why: places.whyNot(object) });
    else if (to === null) unsaid.push({ file, line, rule, why: `no identity can be called \`${subject}\`` });
    else {
      const key = JSON.stringify([subject, object]);
      const granted = grants.get(key) ?? { subject, object, namespace, to: named(to), scopes: new Set(), lines: [] };
      granted.scopes.add(actions.scopeOf(action));
      granted.lines.push({ file, line });
      grants.set(key, granted);
    }
  }
  const ids = makeNames();
  const asked = askedOf(rules, members.isRole, places);
  return {
    providers: [{ name: PROVIDER, description: 'Subjects as casbin names them.' }],
    families,
    roles,
    grants: [...grants].map(([key, granted]) => grantOf(ids.of(key, `${granted.subject}.${granted.object}`), granted)),
    rules: rules.permissions.length + rules.links.length + rules.unsaid.length,
    unsaid,
    notes: notesOf(rules),
    questionCount: asked.subjects.length * asked.objects.length * actions.all.length,
    questions: () => questionsOf(rules, asked, { actions, places }),
  };
}

interface Granted {
  readonly subject: string;
  readonly object: string;
  readonly namespace: string;
  readonly to: ImportedMember;
  readonly scopes: Set<string>;
  readonly lines: SourcePlace[];
}

function grantOf(id: string, { to, namespace, scopes, lines, subject, object }: Granted): ImportedGrant {
  const places = lines.map(({ file, line }) => `${file}:${String(line)}`).join(', ');
  const reason = `${subject} on ${object}, ${places}`;
  return { id, to, namespace, scopes: [...scopes].sort(), inherit: false, reason };
}

function notesOf({ permissions, links }: CasbinRules): readonly string[] {
  const notes: string[] = [];
  if (links.length > 0)
    notes.push('casbin also answers for the name of a role as if it were a subject; the policy does not');
  if (permissions.some(({ object, action }) => `${object}${action}`.includes('*')))
    notes.push('`*` in an object or an action is a character like others, as the matcher of the RBAC model has it');
  return notes;
}

interface ProofDomain {
  readonly subjects: readonly string[];
  readonly objects: readonly string[];
}

function askedOf(
  { permissions, links }: CasbinRules,
  isRole: (name: string) => boolean,
  places: NamespaceMaker,
): ProofDomain {
  const subjects = [...permissions.map(({ subject }) => subject), ...links.map(({ member }) => member), STRANGER];
  const isAsked = (name: string): boolean => !isRole(name) && makeIdentity(PROVIDER, name).ok;
  const objects = [...permissions.map(({ object }) => object), ELSEWHERE];
  return {
    subjects: [...new Set(subjects)].filter(isAsked),
    objects: [...new Set(objects)].filter((object) => places.of(object) !== null),
  };
}

function* questionsOf(
  rules: CasbinRules,
  { subjects, objects }: ProofDomain,
  { actions, places }: { readonly actions: Actions; readonly places: NamespaceMaker },
): Generator<ImportQuestion> {
  const indexed = indexRules(rules);
  for (const subject of subjects) {
    const allows = enforcerFor(indexed, subject);
    const made = makeIdentity(PROVIDER, subject);
    const identities = made.ok ? [made.identity] : [];
    for (const object of objects) {
      for (const action of actions.all) {
        const text = `${subject}, ${object}, ${action}`;
        const namespace = places.of(object) ?? '/';
        yield { text, identities, scope: actions.scopeOf(action), namespace, allowed: allows(object, action) };
      }
    }
  }
}
