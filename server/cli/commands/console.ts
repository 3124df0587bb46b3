// `bailiwick console`: the console of a running gateway in a browser on this machine, for one session.
import { adminDoor, type AdminOptions, clientOf, refusalOf, SOCKET_SETTINGS, ADMIN } from '../admin-client.js';
import { CliFailure, EXIT } from '../exit.js';
import { type CliIo, write, writeJson } from '../io.js';
import { configOf, formats } from '../options.js';
import { escapeText } from '../render/escape.js';
import { onTermination } from '../signals.js';
import { type ConsoleEnd, openConsoleDoor } from '../console-door.js';
import { consolePage } from '../../lib/console-page.js';
import { takes, verb } from '../verb.js';

const TAKES = takes({ ...ADMIN, ...formats() });

export const defineConsole = verb(TAKES, openConsole, {
  settings: SOCKET_SETTINGS,
  examples: {
    'the gateway of this folder': 'bailiwick console',
    'a gateway on another machine: the key stays in this command':
      'bailiwick console --admin-url https://gateway.example.org:8081 --admin-key-file admin.key',
  },
  json: [
    '{"address"}: open it in a browser on this machine within a minute; it works once. The command runs until the session',
    'ends: with Ctrl-C, five minutes after the page was closed, or after an hour.',
  ],
});

async function openConsole(io: CliIo, options: AdminOptions): Promise<void> {
  const gateway = await adminDoor(io, options, await configOf(io, options));
  // Before anybody opens the page: is there a gateway, and may this command administer it?
  const known = await clientOf(gateway)('GET', '/admin/v1/shadow');
  if (known.status !== 200) throw refusalOf(known);
  const termination = onTermination();
  try {
    const say = (line: string): void => {
      void write(io.stderr, `${new Date().toISOString()} ${escapeText(line)}\n`);
    };
    const session = await openConsoleDoor({ gateway, page: consolePage('address'), say });
    try {
      if (options.format === 'json') await writeJson(io, { address: session.address });
      else
        await write(
          io.stdout,
          `${session.address}\nOpen it in a browser on this machine within a minute: it works once. Ctrl-C ends the session.\n`,
        );
      const how = await Promise.race([session.ended, termination.requested.then(() => null)]);
      if (how !== null) await atEnd(io, how);
    } finally {
      await session.close();
    }
  } finally {
    termination.stop();
  }
}

async function atEnd(io: CliIo, how: ConsoleEnd): Promise<void> {
  if (how === 'unused')
    throw new CliFailure(EXIT.precondition, 'console.unused', 'the address was not opened within a minute', {
      help: 'run it again',
    });
  const why = how === 'idle' ? 'its page has sent no request for five minutes' : 'it lasted an hour';
  await write(io.stderr, `the session has ended: ${why}; run \`bailiwick console\` again for another\n`);
}
