// The types of single settings: what the file may hold, how the text of a flag or variable is read, and the resulting
// value. No message repeats what was given, because it may hold a password.
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { GROUP_SUFFIX, type Identity, identityFaultText, parseIdentity } from '../../engine/index.js';
import { reachedUrlFault } from '../net/outgoing.js';
import { type AuthzenVocabulary, readVocabulary, VOCABULARY_SCHEMA } from '../asking/vocabulary.js';

export type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly message: string };

/** A setting as it is written in the file. */
export type WrittenSetting =
  string | number | boolean | readonly (string | number | boolean)[] | Readonly<Record<string, unknown>>;

/** As people read it. */
export function writtenText(written: WrittenSetting): string {
  if (written instanceof Array) return written.join();
  return typeof written === 'object' ? JSON.stringify(written) : String(written);
}

export interface ValueType<T> {
  /** The JSON Schema of the written form. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** Ends the sentence that begins with `must be`. */
  readonly words: string;
  /**
   * Turns the text of a flag or a variable into what the file would write. Text that does not fit stays text, which the
   * schema refuses.
   */
  readonly fromText: (text: string) => WrittenSetting;
  /** Parses what the schema has accepted. Relative paths start at `base`. */
  readonly parse: (written: WrittenSetting, base: string) => Parsed<T>;
}

/** Where to listen. Port 0 means any free port. */
export interface Address {
  /** A name, an IPv4 or an IPv6 address without brackets. */
  readonly host: string;
  readonly port: number;
}

/** The schema of most types, which parse the text themselves. */
export const ANY_TEXT = Object.freeze({ type: 'string' });

function textType<T>(words: string, parse: (text: string, base: string) => Parsed<T>): ValueType<T> {
  return {
    schema: ANY_TEXT,
    words,
    fromText: (text) => text,
    parse: (written, base) => parse(textOf(written), base),
  };
}

function textOf(written: WrittenSetting): string {
  return typeof written === 'string' ? written : JSON.stringify(written);
}

export const PATH: ValueType<string> = textType('a path', parsePath);
export const ADDRESS: ValueType<Address> = textType('`host:port`', parseAddress);
/** An address, or null for `none`. */
export const ADDRESS_OR_NONE: ValueType<Address | null> = textType<Address | null>('`host:port`, or `none`', (text) =>
  text === 'none' ? { ok: true, value: null } : parseAddress(text),
);
/** An absolute path, or `none`, which is never an absolute path. */
export const PATH_OR_NONE: ValueType<string> = textType('a path, or `none`', (text, base) =>
  text === 'none' ? { ok: true, value: text } : parsePath(text, base),
);
/** Kept as it is. */
export const DATABASE_URL: ValueType<string> = textType('a PostgreSQL URL', parseDatabaseUrl);

/** Several of them, with white space between. Kept as they are. */
export const DATABASE_URLS: ValueType<readonly string[]> = textType('PostgreSQL URLs with spaces between', (text) => {
  const urls = text.split(/\s+/).filter((url) => url !== '');
  const wrong = urls.map(parseDatabaseUrl).find(({ ok }) => !ok);
  if (wrong !== undefined && !wrong.ok) return wrong;
  if (urls.length === 0) return fault('is empty: leave it unset to read from the primary alone');
  if (new Set(urls).size < urls.length) return fault('names a replica twice');
  return { ok: true, value: urls };
});

/** The verifier key of a witness. */
export const WITNESS_KEY: ValueType<string> = textType('a verifier key', (text) =>
  /^[^\s+]+\+[0-9a-f]{8}\+[A-Za-z0-9+/]{44}$/.test(text)
    ? { ok: true, value: text }
    : fault('must be the verifier key of a witness, `<name>+<key id>+<base64>`'),
);

/** The full name of a git ref. */
export const GIT_REF: ValueType<string> = textType('a branch or tag such as `refs/heads/main`', (text) =>
  /^refs\/(?:heads|tags)\/[\w.-]+(?:\/[\w.-]+)*$/.test(text) && !/\.\.|\/\.|\.lock(?:\/|$)|\.$/.test(text)
    ? { ok: true, value: text }
    : fault('must be the full name of a branch or tag, such as `refs/heads/main`'),
);

/** A relative path that stays inside, with `/` between its parts. */
export const PATH_INSIDE: ValueType<string> = textType('a path inside the repository', (text) =>
  text.split('/').every((name) => !/^(?:|\.{1,2})$/.test(name)) && !text.includes('\0')
    ? { ok: true, value: text }
    : fault('must be a path inside the repository, such as `policies`'),
);

export const FLAG: ValueType<boolean> = {
  schema: { type: 'boolean' },
  words: '`true` or `false`',
  fromText: (text) => (text === 'true' ? true : text === 'false' ? false : text),
  parse: (written) => ({ ok: true, value: written === true }),
};

/** A whole number between two bounds, both included. */
export function count(minimum: number, maximum: number): ValueType<number> {
  return {
    schema: { type: 'integer', minimum, maximum },
    words: `a whole number from ${String(minimum)} to ${String(maximum)}`,
    fromText: (text) => (/^\d{1,15}$/.test(text) ? Number(text) : text),
    parse: (written) => ({ ok: true, value: Number(written) }),
  };
}

/** An absolute path; relative ones start at `base`. */
export function parsePath(text: string, base: string): Parsed<string> {
  if (text === '') return fault('is empty');
  // What has line breaks is a key or certificate itself, which no message may quote as a path.
  if (CONTROL.test(text)) return fault('is not a path');
  return { ok: true, value: resolve(base, text) };
}

// eslint-disable-next-line no-control-regex -- those are the characters that are looked for
const CONTROL = /[\u0000-\u001f\u007f]/;

/** `host:port`, `[::1]:port`; both parts are needed, so that nobody listens on every address by leaving one out. */
export function parseAddress(text: string): Parsed<Address> {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+)):(\d{1,5})$/.exec(text);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  if (host === undefined || port > 65_535) return fault('must be `host:port`, as in `127.0.0.1:8080` or `[::1]:8080`');
  return { ok: true, value: Object.freeze({ host, port }) };
}

function parseDatabaseUrl(text: string): Parsed<string> {
  if (text === '') return fault('is empty: leave it unset for the embedded store');
  // A user without a host is for a Unix socket, which the driver reads so.
  if (!/^postgres(?:ql)?:\/\//.test(text) || !URL.canParse(text.replace('@/', '@socket/'))) {
    return fault(
      'is not a PostgreSQL URL: it must look like `postgres://user:password@host:5432/database`, or for a Unix socket like `postgres:///database?host=/var/run/postgresql`',
    );
  }
  return { ok: true, value: text };
}

const UNITS: ReadonlyMap<string, number> = new Map([
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
]);

const ZERO = /^0{1,9}[smhd]$/;

/** `30s`, `15m`, `24h`, `90d`, in milliseconds. */
export function parseDuration(text: string): Parsed<number> {
  if (ZERO.test(text)) return fault('must be at least `1s`');
  const match = /^([1-9]\d{0,8})([smhd])$/.exec(text);
  const unit = UNITS.get(match?.[2] ?? '');
  if (unit === undefined) return fault('must be a duration such as `30s`, `15m`, `24h` or `90d`');
  return { ok: true, value: Number(match?.[1]) * unit };
}

/** Whole seconds as the file would write them. */
export const inSeconds = (milliseconds: number): string => `${String(milliseconds / 1000)}s`;

type WhenZero = 'it cannot be switched off' | 'leave it unset to switch it off';

/** Milliseconds, at most those of another duration if there is one. */
function durationType(words: string, longest: string | null, whenZero: WhenZero): ValueType<number> {
  const most = longest === null ? null : parseDuration(longest);
  return textType(words, (text) => {
    if (ZERO.test(text)) return fault(`must be at least \`1s\`; ${whenZero}`);
    const parsed = parseDuration(text);
    const isLonger = parsed.ok && most?.ok === true && parsed.value > most.value;
    return isLonger ? fault(`must be at most \`${String(longest)}\``) : parsed;
  });
}

export const durationUpTo = (longest: string): ValueType<number> =>
  durationType(`a duration such as \`3s\`, at most \`${longest}\``, longest, 'it cannot be switched off');

export const DURATION: ValueType<number> = durationUpTo('1h');

/** What is off unless it is set. */
export const DURATION_OR_OFF: ValueType<number> = durationType(
  'a duration such as `3s`, at most `1h`',
  '1h',
  'leave it unset to switch it off',
);

/** An address that the gateway sends requests to. */
export const OUTGOING_URL: ValueType<string> = textType('a URL', (text) => {
  const wrong = reachedUrlFault(text, 'private');
  return wrong === null ? { ok: true, value: text } : fault(wrong);
});

/** Where others reach this gateway. Without a slash at the end. */
export const BASE_URL: ValueType<string> = textType('an https URL', (text) => {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isPlain = url !== null && url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (!isPlain || url.protocol !== 'https:')
    return fault('must be an https URL without user, query or fragment, such as `https://pdp.example.org`');
  return { ok: true, value: url.href.replace(/\/+$/, '') };
});

/** The words of AuthZEN. */
export const VOCABULARY: ValueType<AuthzenVocabulary> = {
  schema: VOCABULARY_SCHEMA,
  words: 'a vocabulary with `subjects`, `resources` and `actions` (docs/authzen.md)',
  fromText: (text) => text,
  parse: readVocabulary,
};

/** Milliseconds, however many. */
export const AGE: ValueType<number> = durationType(
  'a duration such as `24h` or `90d`',
  null,
  'it cannot be switched off',
);

/** What is off unless it is set. */
export const AGE_OR_OFF: ValueType<number> = durationType(
  'a duration such as `24h` or `90d`',
  null,
  'leave it unset to switch it off',
);

/** As policies and statements have names (docs/language.md); the engine is not loaded for the sake of a help text. */
const NAME_TEXT = /^[a-z0-9][a-z0-9._-]{0,127}$/;

export const NAME: ValueType<string> = textType('a name such as `production`', (text) =>
  NAME_TEXT.test(text) ? { ok: true, value: text } : fault('must be a name such as `production`'),
);
/** A provider as policies declare it. */
export const PROVIDER: ValueType<string> = textType('the name of a provider', (text) => {
  if (text.endsWith('-group')) return fault('must not end in `-group`: such names are for the groups of a provider');
  return NAME_TEXT.test(text)
    ? { ok: true, value: text }
    : fault('must be the name of a provider that the policy declares, as in `orcid`');
});

/** An identity that is not a group. */
export const IDENTITY: ValueType<Identity> = textType('an identity', (text) => {
  const read = parseIdentity(text);
  if (!read.ok) return fault(`must be an identity such as \`public:anyone\`: ${identityFaultText(read.fault)}`);
  const { provider } = read.identity;
  return provider.endsWith(GROUP_SUFFIX)
    ? fault('must not be a group: only who has signed in is in one')
    : { ok: true, value: Object.freeze(read.identity) };
});

/** Kept as it is. */
export const TEXT: ValueType<string> = {
  ...textType('a string that is not empty', (text) => ({ ok: true, value: text })),
  schema: { type: 'string', minLength: 1 },
};

/** One of the words. */
export function oneOf<Word extends string>(...words: readonly Word[]): ValueType<Word> {
  const quoted = words.map((word) => `\`${word}\``);
  const list = [quoted.slice(0, -1).join(', '), ...quoted.slice(-1)].join(' or ');
  return {
    schema: { type: 'string', enum: [...words] },
    words: list,
    fromText: (text) => text,
    parse: (written) => {
      const found = words.find((word) => word === written);
      return found === undefined ? fault(`must be ${list}`) : { ok: true, value: found };
    },
  };
}

/** One string or a list of them; none is empty, and neither is the list. */
export const TEXTS: ValueType<readonly string[]> = {
  schema: { anyOf: [TEXT.schema, { type: 'array', items: TEXT.schema, minItems: 1, uniqueItems: true }] },
  words: 'a string that is not empty, or a list of those',
  fromText: (text) => text,
  parse: (written) => ({
    ok: true,
    value: Object.freeze(Array.isArray(written) ? written.map(String) : [textOf(written)]),
  }),
};

/** A list of strings, each of which is right by itself; empty if it is not set. */
function listOf(words: string, faultOf: (text: string) => string | null): ValueType<readonly string[]> {
  return {
    schema: { type: 'array', items: TEXT.schema, minItems: 1, uniqueItems: true },
    words,
    fromText: (text) => text,
    parse: (written) => {
      const texts = Array.isArray(written) ? written.map(String) : [];
      const message = texts.map(faultOf).find((one) => one !== null);
      return typeof message !== 'string' ? { ok: true, value: Object.freeze(texts) } : fault(message);
    },
  };
}

/** Addresses and networks. */
export const NETWORKS: ValueType<readonly string[]> = listOf(
  'a list of addresses or networks such as `10.0.0.0/8`',
  networkFault,
);
/** As browsers send them. */
export const ORIGINS: ValueType<readonly string[]> = listOf(
  'a list of origins such as `https://app.example.org`',
  originFault,
);

/** A list of such words, at least one. */
export function someOf<Word extends string>(...words: readonly Word[]): ValueType<readonly Word[]> {
  return {
    schema: { type: 'array', items: { type: 'string', enum: [...words] }, minItems: 1, uniqueItems: true },
    words: `a list of at least one of ${words.map((word) => `\`${word}\``).join(', ')}`,
    fromText: (text) => text,
    parse: (written) => ({
      ok: true,
      value: Object.freeze(words.filter((word) => Array.isArray(written) && written.includes(word))),
    }),
  };
}

function fault(message: string): { readonly ok: false; readonly message: string } {
  return { ok: false, message };
}

/** What is wrong with it as a proxy's address or network; null for nothing. */
function networkFault(text: string): string | null {
  const [address = '', prefix, ...more] = text.split('/');
  const version = isIP(address);
  if (version === 0 || address.includes('%') || more.length > 0)
    return 'must be an address or a network such as `10.0.0.0/8`';
  if (prefix === undefined) return null;
  if (!/^(?:0|[1-9]\d{0,2})$/.test(prefix) || Number(prefix) > (version === 4 ? 32 : 128)) {
    return 'has a prefix length that does not fit its address';
  }
  return prefix === '0' ? 'would trust everybody: name the proxies' : null;
}

/** What is wrong with it as an origin; null for nothing. */
function originFault(text: string): string | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isWeb = url !== null && ['http:', 'https:'].includes(url.protocol) && !url.hostname.includes('*');
  return isWeb && url.origin === text
    ? null
    : 'must be an origin as browsers send it, such as `https://app.example.org`';
}
