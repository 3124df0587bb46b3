// `bailiwick snapshots`, `activate` and `rollback`: which snapshots the store of a running gateway has, and which one
// is in force.
import { type AdminOptions, askGateway, SOCKET_SETTINGS, ADMIN } from '../admin-client.js';
import { listOf, membersOf, textOf } from '../answer-members.js';
import type { Answer, CliIo } from '../io.js';
import { formats } from '../options.js';
import { renderTable } from '../render/text.js';
import { required, takes, verb } from '../verb.js';

const DIGEST = 'sha256:0263829989b6fd954f72baaf2fc64bc2e2f01d692d4de72986ea808f6e99813f';

const SNAPSHOTS = takes({ ...ADMIN, ...formats() });

export const defineSnapshots = verb(SNAPSHOTS, listSnapshots, {
  settings: SOCKET_SETTINGS,
  examples: { 'digests to go back to': 'bailiwick snapshots' },
  json: [
    '{"snapshots":[{"snapshot","policy","decisions","bytes","labels","state":"active"|"stored"|"refused","isSigned","generation",',
    ' "reason","askedBy","loadedAt"}]}, last used first; generation, reason and askedBy are of the last activation, or null.',
  ],
});

const ACTIVATE = takes({
  '<digest>': 'snapshot that the store has, as `bailiwick snapshots` shows it',
  ...ADMIN,
  '--reason <text>': 'why, for people; it is kept with the activation',
  ...formats(),
});

export const defineActivate = verb(
  ACTIVATE,
  (io, options) => {
    const { digest, reason } = options;
    const path = `/admin/v1/snapshots/${encodeURIComponent(digest).replaceAll('%3A', ':')}/activate`;
    return change(io, options, { path, body: { reason } });
  },
  {
    settings: SOCKET_SETTINGS,
    examples: { 'on every gateway of the store': `bailiwick activate ${DIGEST} --reason 'tested in staging'` },
    json: ['{"snapshot","generation"}'],
  },
);

const ROLLBACK = takes({
  ...ADMIN,
  '--to <digest>': 'snapshot to return to (default: the one that was in force before)',
  '--reason <text>': required('why, for people; it is kept with the activation'),
  ...formats(),
});

export const defineRollback = verb(
  ROLLBACK,
  (io, options) => {
    const { to, reason } = options;
    return change(io, options, { path: '/admin/v1/rollback', body: { to, reason } });
  },
  {
    settings: SOCKET_SETTINGS,
    examples: {
      'the previous policy, on every gateway of the store':
        "bailiwick rollback --reason 'the optics labs lost their runs'",
      'a snapshot of your choice': `bailiwick rollback --to ${DIGEST} --reason 'back to Friday'`,
    },
    json: ['{"snapshot","generation"}'],
  },
);

async function listSnapshots(io: CliIo, options: AdminOptions): Promise<Answer> {
  const answer = await askGateway(io, options, 'GET', '/admin/v1/snapshots');
  const rows = listOf(answer.get('snapshots')).map((one) => FIELDS.map((name) => textOf(membersOf(one).get(name))));
  return {
    json: () => Object.fromEntries(answer),
    text: () => (rows.length === 0 ? 'the store has no snapshots\n' : renderTable(HEADINGS, rows)),
  };
}

const HEADINGS = ['SNAPSHOT', 'STATE', 'ACTIVATION', 'STORED', 'REASON'];

const FIELDS = ['snapshot', 'state', 'generation', 'loadedAt', 'reason'];

/** Sends the request that changes the policy in force, and reports the result. */
async function change(
  io: CliIo,
  options: AdminOptions,
  { path, body }: { readonly path: string; readonly body: object },
): Promise<Answer> {
  const answer = await askGateway(io, options, 'POST', path, body);
  const [snapshot, generation] = [answer.get('snapshot'), answer.get('generation')];
  return {
    json: () => ({ snapshot, generation }),
    text: () => `in force  ${textOf(snapshot)}, activation ${textOf(generation)}\n`,
  };
}
