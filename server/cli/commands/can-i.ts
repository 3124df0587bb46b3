// `bailiwick can-i <scope> <namespace>`: asks a running gateway, with the caller's own credential, what it would
// decide. The credential is never printed, and goes only to the gateway.
import { parseStrictJson } from '../../json/strict-json.js';
import { readSmallFileOrPipe, SmallFileError } from '../../lib/small-file.js';
import { OutgoingError, send, urlFault } from '../../net/outgoing.js';
import { notAScope } from '../actor.js';
import { listOf, membersOf } from '../answer-members.js';
import { CliFailure, EXIT, usage } from '../exit.js';
import { type Answer, type CliIo, pathOf } from '../io.js';
import { formats } from '../options.js';
import { linesText } from '../render/text.js';
import { CLI_LIMITS } from '../../limits/command-line.js';
import { type Given, required, takes, verb } from '../verb.js';

const DEFAULT_URL = 'http://127.0.0.1:8080';

const TAKES = takes({
  '<scope>': 'scope to ask about, such as `resource:write`',
  '<namespace>': 'namespace to ask about, such as `/labs/optics`',
  '--key-file <file>': required('file that holds your API key or token, and nothing else; `-` is stdin'),
  '--url <url>': { about: 'address of the gateway', usual: DEFAULT_URL },
  ...formats(),
});

export const defineCanI = verb(TAKES, canI, {
  examples: {
    'may this key write there?': 'bailiwick can-i resource:write /labs/optics --key-file key.txt',
    'in a script: the exit status is 0 for yes and 7 for no':
      'bailiwick can-i process-run:write /beamlines/amx --url https://bailiwick.example.org --key-file /var/run/bailiwick/token',
  },
  json: ['{"decision":"allow"|"deny","scope","namespace","grants":[id],"snapshot"}'],
});

async function canI(io: CliIo, { scope, namespace, keyFile, url }: Given<typeof TAKES>): Promise<Answer> {
  const credential = await readCredential(io, keyFile);
  const held = await askGateway(url, scope, namespace, credential);
  const grants = held.scopes.find((one) => one.scope === scope)?.grants ?? null;
  io.setStatus(grants === null ? EXIT.differences : EXIT.ok);
  const decision = grants === null ? 'deny' : 'allow';
  const by = grants === null || grants.length === 0 ? '' : `, by ${grants.join(', ')}`;
  const line = `${grants === null ? 'no' : 'yes'}: ${scope} ${held.namespace}${by}`;
  return {
    json: () => ({ decision, scope, namespace: held.namespace, grants: grants ?? [], snapshot: held.snapshot }),
    text: () => linesText([line]),
  };
}

/** The credential in a file, which is sent and never printed. */
async function readCredential(io: CliIo, path: string): Promise<string> {
  const bytes = path === '-' ? await readStdin(io) : await readFileOf(io, path);
  const text = bytes.toString('utf8').replace(/\r?\n$/, '');
  if (/^[\x21-\x7e]+$/.test(text)) return text;
  throw usage(`\`${path}\` must hold one API key or token and nothing else`);
}

async function readFileOf(io: CliIo, path: string): Promise<Buffer> {
  try {
    return (await readSmallFileOrPipe(pathOf(io, path), CLI_LIMITS.credentialBytes)).bytes;
  } catch (error) {
    if (error instanceof SmallFileError) throw usage(`\`${path}\` ${error.message}`);
    throw error;
  }
}

async function readStdin({ stdin }: CliIo): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const data of stdin) {
    const chunk = Buffer.from(String(data));
    size += chunk.length;
    if (size > CLI_LIMITS.credentialBytes) throw usage('stdin must hold one API key or token and nothing else');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

interface Permissions {
  readonly namespace: string;
  readonly snapshot: string;
  readonly scopes: readonly { readonly scope: string; readonly grants: readonly string[] }[];
}

async function askGateway(base: string, scope: string, namespace: string, credential: string): Promise<Permissions> {
  const fault = urlFault(base);
  if (fault !== null) throw usage(`\`--url\` ${fault}`);
  const url = `${base.replace(/\/$/, '')}/api/v1/permissions?${new URLSearchParams({ namespace, scope }).toString()}`;
  const { answerBytes: maxBytes, answerTimeout: timeout } = CLI_LIMITS;
  const headers = { Authorization: `Bearer ${credential}` };
  const answer = await send({ url, headers, maxBytes, timeout }).catch((error: unknown) => {
    if (!(error instanceof OutgoingError)) throw error;
    throw refused(`the gateway at \`${base}\` ${error.message}`, 'start it, or name another one with --url', error);
  });
  const read = parseStrictJson(answer.body, { depth: CLI_LIMITS.requestDepth });
  const held = answer.status === 200 && read.ok ? permissionsOf(read.value) : null;
  if (held !== null) return held;
  const code = read.ok ? codeOf(read.value) : null;
  if (code === 'request.schema') {
    const meant = meantScope(read.ok ? read.value : null);
    throw usage(notAScope(scope), meant === null ? undefined : `did you mean \`${meant}\`?`);
  }
  if (code === 'namespace.invalid') throw usage(`\`${namespace}\` is not the path of a namespace`);
  const status = `${String(answer.status)}${code === null ? '' : ` ${code}`}`;
  const help = answer.status === 401 ? 'give a key or token that this gateway accepts with --key-file' : undefined;
  throw refused(`the gateway at \`${base}\` answers ${status}`, help);
}

/** Null if the answer is not from a gateway. */
function permissionsOf(value: unknown): Permissions | null {
  const held = membersOf(value);
  const [namespace, snapshot, scopes] = [held.get('namespace'), held.get('snapshot'), held.get('scopes')];
  if (typeof namespace !== 'string' || typeof snapshot !== 'string' || !Array.isArray(scopes)) return null;
  const listed = scopes.map(membersOf).map((one) => ({
    scope: String(one.get('scope')),
    grants: listOf(one.get('grants')).map(String),
  }));
  return { namespace, snapshot, scopes: listed };
}

function refused(message: string, help?: string, cause?: unknown): CliFailure {
  const detail = { ...(help === undefined ? {} : { help }), cause };
  return new CliFailure(EXIT.precondition, 'can-i.gateway', message, detail);
}

/** What a gateway takes a scope for that its policy does not know. */
function meantScope(problem: unknown): string | null {
  const [first] = listOf(membersOf(problem).get('errors'));
  const message = String(membersOf(first).get('message'));
  return /did you mean ([a-z0-9._-]{1,128}:[a-z0-9._-]{1,128})\?/.exec(message)?.[1] ?? null;
}

/** The code of a problem, if it has the form of one. */
function codeOf(value: unknown): string | null {
  const code = membersOf(value).get('code');
  return typeof code === 'string' && /^[a-z_.]{1,64}$/.test(code) ? code : null;
}
