// `bailiwick shadow`: a candidate beside the policy in force of a running gateway: the exact differences, and the
// differences in live requests.
import { ADMIN, askGateway, SOCKET_SETTINGS } from '../admin-client.js';
import { type AnswerMembers, listOf, membersOf, numberOf, textOf, textsOf } from '../answer-members.js';
import { usage } from '../exit.js';
import type { Answer, CliIo } from '../io.js';
import type { SettingFlags } from '../../config/index.js';
import { CLI_LIMITS } from '../../limits/command-line.js';
import { formats } from '../options.js';
import { count } from '../render/text.js';
import { type Given, takes, verb } from '../verb.js';

const DIGEST = 'sha256:0263829989b6fd954f72baaf2fc64bc2e2f01d692d4de72986ea808f6e99813f';
const PATH = '/admin/v1/shadow';

const TAKES = takes({
  '[digest]': 'snapshot that the store has, as `bailiwick snapshots` shows it (default: show the results so far)',
  ...ADMIN,
  '--off': 'end the shadow',
  ...formats(),
});

export const defineShadow = verb(TAKES, shadow, {
  settings: SOCKET_SETTINGS,
  examples: {
    'compare with this snapshot: all differences at once, then those in live requests': `bailiwick shadow ${DIGEST}`,
    'what was found so far': 'bailiwick shadow',
    'if the differences are wanted, put it in force': `bailiwick activate ${DIGEST} --reason 'a day in shadow'`,
    'if not, end the comparison': 'bailiwick shadow --off',
  },
  json: [
    '{"snapshot","policy","decisions","since","askedBy","against":{"snapshot","generation"},"differs":{"cells","gained","lost",',
    '"compared","rows":{"gained":[Row],"lost":[Row],"omitted":{"gained","lost"}}}|null,"fault":{"code","message"}|null,',
    '"live":{"compared","gained","lost","both","skipped","examples":[{"actor","operation","access","at","times","change",',
    '"live","shadow","visible"?}]}}. Row is that of `diff`; each list has the first few, and "omitted" counts the others.',
    'Without a candidate, snapshot, differs and since are null.',
  ],
});

async function shadow(io: CliIo, options: Given<typeof TAKES> & SettingFlags): Promise<Answer> {
  const { digest, off } = options;
  if (off === true && digest !== undefined) throw usage('`--off` takes no snapshot');
  const shown = await (off === undefined && digest === undefined
    ? askGateway(io, options, 'GET', PATH)
    : // A large candidate is opened, verified and compared first.
      askGateway(io, options, 'POST', PATH, { snapshot: digest ?? null }, CLI_LIMITS.shadowPatience));
  return { json: () => Object.fromEntries(shown), text: () => render(shown) };
}

function render(body: AnswerMembers): string {
  if (typeof body.get('snapshot') !== 'string') return 'there is no candidate\n';
  const differs = membersOf(body.get('differs'));
  const live = membersOf(body.get('live'));
  const rows: readonly (readonly [name: string, text: string])[] = [
    ['candidate', `${textOf(body.get('snapshot'))} (${textOf(body.get('policy'))})`],
    ['since', `${textOf(body.get('since'))}, by ${textOf(body.get('askedBy'))}`],
    ['against', againstText(membersOf(body.get('against')))],
    ['differs', differs.size === 0 ? faultText(body.get('fault')) : differsText(differs)],
    ['live', liveText(live)],
  ];
  return [
    ...rows.map(([name, text]) => `${name.padEnd(12)}${text}\n`),
    ...rowLines(differs, 'gained', '+'),
    ...rowLines(differs, 'lost', '-'),
    ...listOf(live.get('examples')).map((one) => exampleLine(membersOf(one))),
  ].join('');
}

function againstText(against: AnswerMembers): string {
  return `${textOf(against.get('snapshot'))}, activation ${textOf(against.get('generation'))}`;
}

function faultText(fault: unknown): string {
  const { size } = membersOf(fault);
  return size === 0 ? 'not known yet' : `not known: ${textsOf(fault, ['code', 'message'])}`;
}

export function differsText(differs: AnswerMembers): string {
  const [cells, gained, lost] = ['cells', 'gained', 'lost'].map((name) => textOf(differs.get(name)));
  return `${String(cells)} of ${textOf(differs.get('compared'))} cells: ${String(gained)} gained, ${String(lost)} lost`;
}

export function liveText(live: AnswerMembers): string {
  const [gained, lost, both, skipped] = ['gained', 'lost', 'both', 'skipped'].map((name) => numberOf(live.get(name)));
  const compared = count(numberOf(live.get('compared')), 'decision');
  const sides = `${String(gained)} gained, ${String(lost)} lost, ${String(both)} both`;
  return `${compared} compared: ${sides}${skipped === 0 ? '' : `; ${String(skipped)} skipped`}`;
}

/** The first rows; the others are counted. */
function rowLines(differs: AnswerMembers, side: 'gained' | 'lost', sign: string): readonly string[] {
  const rows = membersOf(differs.get('rows'));
  const omitted = numberOf(membersOf(rows.get('omitted')).get(side));
  const lines = listOf(rows.get(side)).map((row) => `${sign} ${rowText(membersOf(row))}\n`);
  const more = `${sign} and ${count(omitted, 'more row')}: \`bailiwick diff\` of the two snapshots has all of them\n`;
  return omitted === 0 ? lines : [...lines, more];
}

function rowText(row: AnswerMembers): string {
  const omitted = membersOf(row.get('omitted'));
  const list = (name: string): string => {
    const shown = listOf(row.get(name)).map(textOf).join(', ');
    const more = numberOf(omitted.get(name));
    return more === 0 ? shown : `${shown} and ${String(more)} more`;
  };
  const where = `${EXTENTS.get(String(row.get('extent'))) ?? 'at'} ${textOf(row.get('namespace'))}`;
  const except = row.has('except') ? `, without ${list('except')}` : '';
  const times = ['from', 'until'].map((name) =>
    typeof row.get(name) === 'string' ? ` ${name} ${textOf(row.get(name))}` : '',
  );
  return `${list('identities')}: ${list('scopes')} ${where}${except}${times.join('')}`;
}

const EXTENTS: ReadonlyMap<string, string> = new Map([
  ['below', 'below'],
  ['subtree', 'at and below'],
]);

/** `lost    resource.query by ana at /labs, 3 times: allow, then deny (no_matching_grant)` */
function exampleLine(example: AnswerMembers): string {
  const access = membersOf(example.get('access'));
  const where = access.has('source')
    ? `from ${textOf(access.get('source'))} to ${textOf(access.get('destination'))}`
    : `at ${textOf(access.get('creates') ?? access.get('context'))}`;
  const who = textOf(membersOf(example.get('actor')).get('id'));
  const times = count(numberOf(example.get('times')), 'time');
  const asked = `${textOf(example.get('operation'))} by ${who} ${where}, ${times}`;
  const outcomes = ['live', 'shadow']
    .map((side) => `${side} ${textsOf(example.get(side), ['decision', 'step'])}`)
    .join(', ');
  return `${textOf(example.get('change')).padEnd(8)}${asked}: ${outcomes}\n${placesLine(membersOf(example.get('visible')))}`;
}

function placesLine(visible: AnswerMembers): string {
  return ['gained', 'lost']
    .map((side) => {
      const { places, more } = Object.fromEntries(membersOf(visible.get(side)));
      const texts = listOf(places).map((place) => {
        const { extent, namespace } = Object.fromEntries(membersOf(place));
        return `${EXTENTS.get(String(extent)) ?? 'at'} ${textOf(namespace)}`;
      });
      return texts.length === 0 ? '' : `        ${side} ${texts.join(', ')}${more === true ? ' and more' : ''}\n`;
    })
    .join('');
}
