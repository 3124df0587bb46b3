// `bailiwick status`: what a running gateway serves, since when, and whether it is ready.
import { type AdminOptions, askGateway, SOCKET_SETTINGS, ADMIN } from '../admin-client.js';
import type { Answer, CliIo } from '../io.js';
import { formats } from '../options.js';
import { type AnswerMembers, membersOf, numberOf, textOf, textsOf } from '../answer-members.js';
import { count } from '../render/text.js';
import { differsText, liveText } from './shadow.js';
import { takes, verb } from '../verb.js';

const TAKES = takes({ ...ADMIN, ...formats() });

export const defineStatus = verb(TAKES, showStatus, {
  settings: SOCKET_SETTINGS,
  examples: {
    'the gateway of this folder': 'bailiwick status',
    'a gateway on another machine':
      'bailiwick status --admin-url https://gateway.example.org:8081 --admin-key-file admin.key',
  },
  json: [
    '{"version","startedAt","ready","checks","policy","snapshot","decisions","labels","generation","reason","source","loadedAt","issuedAt",',
    ' "statement":{"generation","expires","signers"},"ageSeconds","stale","undecided","store":{"kind","ok","fault","replicas"},"audit":{"ok","lagSeconds","checkpointLagSeconds","stuckEvents","error"?},',
    ' "certificate","tls":{"expires"},"authzen","lastError","shadow","workers","peers"};',
    'while it waits for its store, {"version","startedAt","ready","checks","waiting","store"}, with the reason as "waiting"',
  ],
});

async function showStatus(io: CliIo, options: AdminOptions): Promise<Answer> {
  const status = await askGateway(io, options, 'GET', '/admin/v1/status');
  return {
    json: () => Object.fromEntries(status),
    text: () =>
      rowsOf(status)
        .map(([name, text]) => `${name.padEnd(12)}${text(status)}\n`)
        .join(''),
  };
}

/** What a gateway that waits for its store can say. */
const WAITING: ReadonlySet<string> = new Set(['ready', 'version', 'started', 'store']);

function rowsOf(status: AnswerMembers): typeof ROWS {
  return status.has('waiting') ? ROWS.filter(([name]) => WAITING.has(name)) : ROWS;
}

/** A remark about a policy's age; none for a low age. */
const AGES: ReadonlyMap<string, string> = new Map([
  ['soft', ', which is long ago'],
  ['hard', ', which is too long ago'],
]);

function readyText(body: AnswerMembers): string {
  const undecided = body.get('undecided');
  const waiting = body.get('waiting');
  const why = [
    typeof waiting === 'string' && `; waiting for the store: ${waiting}`,
    typeof undecided === 'string' && `; decides nothing: ${undecided}`,
  ];
  const failed = [...membersOf(body.get('checks'))].flatMap(([check, said]) => (said === 'ok' ? [] : [textOf(check)]));
  return `${body.get('ready') === true ? 'yes' : ['no', failed.join(', ')].filter(Boolean).join(': ')}${why.filter(Boolean).join('')}`;
}

function statementText(statement: AnswerMembers): string {
  if (statement.size === 0) return 'none';
  const signers: unknown = statement.get('signers');
  const by = Array.isArray(signers) && signers.length > 0 ? `signed by ${signers.map(textOf).join(', ')}, ` : '';
  return `generation ${textOf(statement.get('generation'))}, ${by}${expiryText(statement.get('expiresAt'))}`;
}

/** By the clock of this machine. */
function expiryText(at: unknown): string {
  const text = textOf(at);
  return `${Date.parse(text) <= Date.now() ? 'expired' : 'expires'} at ${text}`;
}

/** Tells the disk of the log from the store, where events wait. */
function auditText(audit: AnswerMembers): string {
  if (audit.size === 0) return 'none';
  const [file, store] = [numberOf(audit.get('fileLagSeconds')), numberOf(audit.get('storeLagSeconds'))];
  const faults = [
    ...(file > 0 ? [`its files could not be written for ${file.toFixed(1)} seconds`] : []),
    ...(store > 0 ? [`events in the store could not be fetched for ${store.toFixed(1)} seconds`] : []),
  ];
  const error = audit.get('error');
  const why = typeof error === 'string' ? ` (${error})` : '';
  const said = faults.length === 0 ? 'written' : `${faults.join(', ')}${why}`;
  const [unsigned, stuck] = [numberOf(audit.get('checkpointLagSeconds')), numberOf(audit.get('stuckEvents'))];
  return [
    audit.get('ok') === true ? said : `${said}: requests are refused`,
    ...(unsigned > 0
      ? [`no checkpoint could be signed for ${unsigned.toFixed(1)} seconds: see the gateway's log`]
      : []),
    ...(stuck > 0 ? [`${count(stuck, 'event')} of another log not taken by it: see \`bailiwick audit release\``] : []),
  ].join('; ');
}

function certificateText(certificate: AnswerMembers): string {
  if (certificate.size === 0) return 'none';
  const clientCa = certificate.get('clientCaExpiresAt') ?? null;
  const fault = certificate.get('fault');
  const said = typeof fault === 'string' ? fault : expiryText(certificate.get('expiresAt'));
  return `${said}${clientCa === null ? '' : `; the client CA ${expiryText(clientCa)}`}`;
}

/** Why the source's offer is not served. */
function errorText(value: unknown): string {
  const error = membersOf(value);
  if (error.size === 0) return 'none';
  const problems: unknown = error.get('problems');
  const first = Array.isArray(problems) && problems.length > 0 ? `: ${textOf(problems[0])}` : '';
  return `${textOf(error.get('at'))} ${textOf(error.get('code'))}: ${textOf(error.get('message'))}${first}`;
}

/** How a candidate differs, in short: `bailiwick shadow` has the rest. */
function shadowText(shadow: AnswerMembers): string {
  if (shadow.size === 0) return 'none';
  const differs = membersOf(shadow.get('differs'));
  const exact = differs.size === 0 ? 'not compared yet' : differsText(differs);
  return `${textOf(shadow.get('snapshot'))}: ${exact}; ${liveText(membersOf(shadow.get('live')))}`;
}

const ROWS: readonly (readonly [name: string, text: (body: AnswerMembers) => string])[] = [
  ['ready', readyText],
  ['version', (body) => textOf(body.get('version'))],
  ['started', (body) => textOf(body.get('startedAt'))],
  ['policy', (body) => textOf(body.get('policy'))],
  ['snapshot', (body) => textOf(body.get('snapshot'))],
  ['decisions', (body) => `${textOf(body.get('decisions'))} (${textOf(body.get('labels'))})`],
  ['activation', (body) => `${textOf(body.get('generation'))} (${textOf(body.get('reason'))})`],
  ['statement', (body) => statementText(membersOf(body.get('statement')))],
  ['source', (body) => textsOf(body.get('source'), ['kind', 'path', 'url', 'repository', 'ref', 'commit'])],
  ['loaded', (body) => textOf(body.get('loadedAt'))],
  [
    'confirmed',
    (body) => `${count(numberOf(body.get('ageSeconds')), 'second')} ago${AGES.get(textOf(body.get('stale'))) ?? ''}`,
  ],
  ['shadow', (body) => shadowText(membersOf(body.get('shadow')))],
  ['last error', (body) => errorText(body.get('lastError'))],
  ['store', (body) => storeText(membersOf(body.get('store')))],
  ['audit log', (body) => auditText(membersOf(body.get('audit')))],
  ['certificate', (body) => certificateText(membersOf(body.get('certificate')))],
  ['replicas', (body) => replicasText(membersOf(body.get('store')).get('replicas'))],
  ['workers', (body) => workersText(membersOf(body.get('workers')))],
  ['peers', peersText],
];

/** One that is not ready may be reachable: a standby answers queries. */
function storeText(store: AnswerMembers): string {
  const fault = store.get('fault') ?? null;
  const how = store.get('ok') === true ? 'reachable' : 'not ready';
  return `${textOf(store.get('kind'))}, ${how}${fault === null ? '' : `; ${textOf(fault)}`}`;
}

function workersText(workers: AnswerMembers): string {
  return workers.size === 0 ? 'none' : `${textOf(workers.get('serving'))} of ${textOf(workers.get('size'))} answer`;
}

function replicasText(replicas: unknown): string {
  if (!Array.isArray(replicas) || replicas.length === 0) return 'none';
  return replicas.map(membersOf).map(replicaText).join('; ');
}

function replicaText(replica: AnswerMembers): string {
  const age = replica.get('ageSeconds');
  const old = typeof age === 'number' ? `${String(age)} seconds old at most` : 'of unknown age';
  const why = [replica.get('fault'), replica.get('reason')].filter((text) => typeof text === 'string').join(': ');
  const use = replica.get('used') === true ? 'used' : 'not used';
  return `${textOf(replica.get('address'))} ${use}, ${old}${why === '' ? '' : ` (${why})`}`;
}

/** Gateways that serve something else are named. Several may run on one host, and are told apart by their starts and names. */
function peersText(body: AnswerMembers): string {
  const peers = body.get('peers');
  if (!Array.isArray(peers) || peers.length === 0) return 'none seen';
  const others = peers.map(membersOf).filter((peer) => peer.get('snapshot') !== body.get('snapshot'));
  const named = others.map((peer) => {
    const [host, gateway, startedAt, number] = ['host', 'gateway', 'startedAt', 'generation'].map((name) =>
      textOf(peer.get(name)),
    );
    return `${host ?? ''} (started ${startedAt ?? ''}, name ${gateway ?? ''}, activation ${number ?? ''})`;
  });
  const seen = `${String(peers.length)} seen`;
  return named.length === 0 ? `${seen}, with the same snapshot` : `${seen}; with another snapshot: ${named.join(', ')}`;
}
