// The content of a generated policy: a facility with as many namespaces, people and grants as wanted. Everything follows from the seed
// and the thing's index alone. So the same numbers give the same policy everywhere, and an edit changes nothing else.

/** The largest numbers that are measured. The engine's limits are higher. */
const MOST_NAMESPACES = 100_000;
const MOST_IDENTITIES = 100_000;
const FAN_OUT = 8;
const TEAM = 25;
const GROUP = 12;
const VISITORS = 0.02;
const DAY = 24 * 60 * 60 * 1000;
const FIRST_MONTH = { year: 2026, month: 1 };
const MONTHS = 36;

/** What is granted to people of a team or a department, or to single people. Only stewards write namespaces and templates. */
const BUNDLES = [
  ['resource:read'],
  ['"*:read"'],
  ['"resource:*"'],
  ['resource:read', '"process-run:*"'],
  ['process-run:read', 'process-template:read'],
  ['namespace:read', 'resource:read'],
  ['resource-template:read', '"resource:*"', 'process-run:read'],
];
const STEWARDSHIP = ['"namespace:*"', '"resource-template:*"', '"process-template:*"'];

/**
 * The sizes of a policy with `grants` grants. By default there are as many namespaces and identities as grants, up to 100,000 of each:
 * the hardest shape, in which hardly anything repeats.
 */
export function sizesOf({ grants, seed = 1, namespaces, identities, edits = 0 }) {
  const people = Math.min(identities ?? grants, MOST_IDENTITIES);
  const visitors = Math.max(1, Math.round(people * VISITORS));
  const stewards = Math.max(2, Math.round(people / 1000));
  const staff = Math.max(TEAM, people - visitors - stewards);
  const teams = Math.ceil(staff / TEAM);
  const departments = Math.ceil(teams / GROUP);
  const divisions = Math.ceil(departments / GROUP);
  const tops = Math.min(50, Math.max(2, Math.floor(grants / 50)));
  const nodes = Math.max(tops, Math.min(namespaces ?? grants, MOST_NAMESPACES));
  return { grants, seed, edits, visitors, stewards, staff, teams, departments, divisions, tops, nodes };
}

/** A number from 0 up to `below` for the `index`-th thing of a kind. `salt` separates several draws for one thing. */
function draw({ seed }, [kind, index, salt], below) {
  let h = seed ^ Math.imul(kind + 1, 0x9e3779b1) ^ Math.imul(salt + 1, 0x85ebca6b);
  h = Math.imul(h ^ index, 0xc2b2ae35);
  h = Math.imul(h ^ (h >>> 15), 0x2c1b3c6d);
  h = Math.imul(h ^ (h >>> 12), 0x297a2d39);
  return ((h ^ (h >>> 15)) >>> 0) % below;
}

const TEAM_OF = 0;
const GRANT = 1;
const name = (kind, index) => `${kind}-${String(index).padStart(4, '0')}`;
const person = (index) => `badge:p${String(index).padStart(6, '0')}`;
const steward = (index) => `badge:s${String(index).padStart(4, '0')}`;
const visitor = (index) => `visitor:v${String(index).padStart(5, '0')}`;

/** Namespace `index`, from 0: the top levels first, then eight below each. */
export function pathOf(sizes, index) {
  if (index < sizes.tops) return `/${name('site', index)}`;
  const below = index - sizes.tops;
  return `${pathOf(sizes, Math.floor(below / FAN_OUT))}/${name('unit', below % FAN_OUT)}`;
}

/** The top level that namespace `index` is in. */
export function topOf(sizes, index) {
  let at = index;
  while (at >= sizes.tops) at = Math.floor((at - sizes.tops) / FAN_OUT);
  return at;
}

/** `[name, members as YAML]` of every role: staff in teams in departments in divisions, and stewards. */
export function* rolesOf(sizes) {
  const teams = Array.from({ length: sizes.teams }, () => []);
  for (let index = 0; index < sizes.staff; index += 1) {
    const own = index % sizes.teams;
    teams[own].push(person(index));
    const second = draw(sizes, [TEAM_OF, index, 0], sizes.teams);
    if (draw(sizes, [TEAM_OF, index, 1], 10) < 3 && second !== own) teams[second].push(person(index));
  }
  const inner = (kind, count, from) =>
    Array.from({ length: Math.min(GROUP, count - from) }, (_, i) => `{ role: ${name(kind, from + i)} }`);
  for (const [index, members] of teams.entries()) yield [name('team', index), members];
  for (let index = 0; index < sizes.departments; index += 1)
    yield [name('department', index), inner('team', sizes.teams, index * GROUP)];
  for (let index = 0; index < sizes.divisions; index += 1)
    yield [name('division', index), inner('department', sizes.departments, index * GROUP)];
  yield ['everyone', Array.from({ length: sizes.divisions }, (_, index) => `{ role: ${name('division', index)} }`)];
  yield ['stewards', Array.from({ length: sizes.stewards }, (_, index) => steward(index))];
}

/**
 * Grant `index` as the lines of its YAML, or nothing if an edit has removed it. `node` is its namespace. Edits change, remove, add to
 * and move grants at regular intervals.
 */
export function grantOf(sizes, index) {
  const grant = plainGrant(sizes, index);
  const edit = editOf(sizes, index);
  if (edit === null) return { node: grant.node, texts: [textOf(sizes, grant)] };
  const texts = {
    changed: () => [textOf(sizes, { ...grant, scopes: [...grant.scopes, 'process-run:write'] })],
    removed: () => [],
    added: () => [textOf(sizes, grant), textOf(sizes, { ...grant, id: `${grant.id}-b`, who: `identity: ${person(0)}` })],
    moved: () => [textOf(sizes, { ...grant, who: `identity: ${person(1)}` })],
  };
  return { node: grant.node, texts: texts[edit]() };
}

const EDITS = ['changed', 'removed', 'added', 'moved'];

function editOf({ grants, edits }, index) {
  if (edits === 0) return null;
  const step = Math.floor(grants / (edits + 1));
  const number = index / step - 1;
  return Number.isInteger(number) && number >= 0 && number < edits ? EDITS[number % EDITS.length] : null;
}

function plainGrant(sizes, index) {
  const pick = (salt, below) => draw(sizes, [GRANT, index, salt], below);
  const id = name('g', index);
  if (index < sizes.tops) return { id, node: index, who: 'role: stewards', scopes: STEWARDSHIP };
  if (index < 2 * sizes.tops) {
    return { id, node: index - sizes.tops, who: 'role: everyone', scopes: ['resource-template:read'], exact: true };
  }
  const node = pick(0, sizes.nodes);
  const scopes = BUNDLES[pick(1, BUNDLES.length)];
  const exact = pick(2, 20) === 0;
  const share = pick(3, 100);
  if (share < 3) return { id, node, exact, scopes, who: `identity: ${visitor(pick(4, sizes.visitors))}`, window: visit(pick(5, 700)) };
  const who =
    share < 70
      ? `role: ${name('team', pick(4, sizes.teams))}`
      : share < 84
        ? `role: ${name('department', pick(4, sizes.departments))}`
        : share < 85
          ? `role: ${name('division', pick(4, sizes.divisions))}`
          : `identity: ${person(pick(4, sizes.staff))}`;
  return { id, node, exact, scopes, who, window: pick(6, 8) === 0 ? term(pick(7, MONTHS), pick(8, 2) === 0) : null };
}

/** A visit of up to 90 days. */
function visit(day) {
  const start = Date.UTC(FIRST_MONTH.year, FIRST_MONTH.month - 1, 1) + Math.floor(day / 7) * 7 * DAY;
  return { notBefore: start, expires: start + 28 * DAY };
}

/** A window until half a year after the month. A `bounded` one begins with the month. */
function term(month, bounded) {
  const at = (months) => Date.UTC(FIRST_MONTH.year, FIRST_MONTH.month - 1 + months, 1);
  return bounded ? { notBefore: at(month), expires: at(month + 6) } : { expires: at(month + 6) };
}

function textOf(sizes, { id, node, who, scopes, exact, window }) {
  const instant = (at) => new Date(at).toISOString().replace('.000Z', 'Z');
  return [
    `  - id: ${id}`,
    `    ${who}`,
    `    namespace: ${pathOf(sizes, node)}`,
    `    scopes: [${scopes.join(', ')}]`,
    ...(exact === true ? ['    inherit: false'] : []),
    ...(window?.notBefore === undefined ? [] : [`    notBefore: ${instant(window.notBefore)}`]),
    ...(window?.expires === undefined || window === null ? [] : [`    expires: ${instant(window.expires)}`]),
  ].join('\n');
}

/** Guardrails of all five kinds. The policy satisfies them. */
export function guardrailsText() {
  return `guardrails:
  - id: only-stewards-change-templates
    never: { scopes: ["*-template:write"], under: /${name('site', 0)}, except: { roles: [stewards] } }
  - id: only-stewards-make-namespaces
    never: { scopes: [namespace:write], under: /, except: { roles: [stewards] } }
  - id: no-designer-operates
    separate: ["resource-template:write", "process-run:write"]
  - id: two-stewards
    atLeast: { identities: 2, scope: namespace:write, at: every-top-level }
  - id: root-is-rare
    atMost: { identities: 3, scopes: ["*:write"], at: / }
  - id: visitors-leave
    expires: { providers: [visitor], within: 90d }
`;
}

/** A test for each top-level namespace. All pass. */
export function testsText(sizes) {
  const tests = Array.from({ length: sizes.tops }, (_, top) => {
    const at = `/${name('site', top)}`;
    return `  - name: a steward keeps ${at}, staff do not
    actor: { identities: [${steward(top % sizes.stewards)}] }
    allow: ["namespace:write ${at}", "resource-template:read ${at}/unit-0000"]
  - name: staff do not make namespaces in ${at}
    actor: { identities: [${person(top)}] }
    deny: ["namespace:write ${at}"]`;
  });
  return `tests:\n${tests.join('\n')}\n`;
}
