// The section `tests` (docs/language.md "Tests").
import type { AccessExpectation, TestDeclaration, VisibilityExpectation } from '../model/document.js';
import { parseIdentity } from '../model/identity.js';
import { isName } from '../model/identity.js';
import { isOwnScope, type ScopeName } from '../model/scope.js';
import { ALL_SCOPES, knowsScope, parseScopePattern } from '../model/vocabulary.js';
import { refuse, type FileContext } from './context.js';
import { entriesOf, firstLine, itemsOf, readFreeText, readWord, textsOf } from './fields.js';
import { CREDENTIAL_SCOPES, refuseScope, unionOf } from './scope-values.js';
import { entryOf, list, mapping, named, readMapping, shape, text, value, type ReadMapping } from './shape.js';
import type { Entry, Node, TextNode, WrittenText } from './tree.js';
import { IDENTITIES, INSTANT, namespaceOf, NAMESPACES, nearestHelp } from './values.js';

/** The keys are those of a `decide` line (docs/cli.md "Requests for decide"). */
const ACTOR = shape(
  'an actor',
  {
    identities: [IDENTITIES, 'All identities that the credential proves.'],
    credentialScopes: [CREDENTIAL_SCOPES, 'What the credential carries. Without it, every scope.'],
    namespaceRestrictions: [NAMESPACES, 'Where the credential reaches. Without it, everywhere.'],
  },
  { required: ['identities'] },
);

/** Reads an actor. A single identity or a list of identities is not an actor; the help says what to write. */
function readActor(context: FileContext, node: Node): ReadMapping<typeof ACTOR.rows> | null {
  const isIdentity = (part: Node): boolean => part.kind === 'text' && parseIdentity(part.text).ok;
  const source = context.text.slice(node.start, node.end);
  const isMeant = node.kind === 'list' ? node.items.length > 0 && node.items.every(isIdentity) : isIdentity(node);
  if (!isMeant || source.includes('\n')) return readMapping(context, node, ACTOR);
  const identities = source.startsWith('[') ? source : `[${source}]`;
  return refuse(context, 'VALUE_NOT_MAPPING', {
    at: node,
    message: `${ACTOR.what} must be a mapping, and this is ${node.kind === 'list' ? 'a list' : 'text'}`,
    help: `write \`{ identities: ${identities} }\``,
  });
}

const readDistinct = textsOf(undefined, readWord);

const ACCESSES = value(list(text('access')), (context, node, what): readonly AccessExpectation[] =>
  (readDistinct(context, node, what) ?? [])
    .map((written) => readAccess(context, written))
    .filter((access) => access !== null),
);

const TEST = shape(
  'a test',
  {
    name: [value(text('test-name'), readTestName), 'What the test is about, for people.'],
    actor: [value(mapping(ACTOR), readActor), 'Who asks.'],
    at: [INSTANT, 'When. Without it, the test must hold at all times.'],
    allow: [ACCESSES, 'Accesses that must be allowed: `resource:read /labs`.'],
    deny: [ACCESSES, 'Accesses that must be denied.'],
    sees: [
      value(named('family-place', NAMESPACES), entriesOf(readSeen)),
      'For a family and a context, exactly the namespaces at and above the context whose records are visible.',
    ],
  },
  { required: ['name', 'actor'], anyFilled: ['allow', 'deny', 'sees'] },
);

function readTest(context: FileContext, node: Node): TestDeclaration | null {
  const test = readMapping(context, node, TEST);
  if (test === null) return null;
  const { values, mayHaveLost } = test;
  const expectations = test.entries.filter(({ key }) => TEST.anyFilled.includes(key.text));
  if (expectations.every((entry) => isEmpty(entry.value)) && !mayHaveLost) {
    refuse(context, 'TEST_EXPECTS_NOTHING', {
      at: entryOf(test, 'name')?.value ?? firstLine(context, node),
      message: 'the test expects nothing, so it would always pass',
      help: 'add `allow`, `deny` or `sees`',
    });
  }
  const { identities, credentialScopes, namespaceRestrictions } = values.actor?.values ?? {};
  return {
    name: values.name ?? null,
    identities: identities ?? [],
    credentialScopes: credentialScopes === undefined ? ALL_SCOPES : unionOf(credentialScopes ?? []),
    namespaceRestrictions: namespaceRestrictions === undefined ? null : (namespaceRestrictions ?? []),
    at: values.at ?? null,
    allow: values.allow ?? [],
    deny: values.deny ?? [],
    sees: values.sees ?? [],
  };
}

export const TESTS = value(list(mapping(TEST)), itemsOf(readTest));

function isEmpty(node: Node): boolean {
  return (node.kind === 'list' && node.items.length === 0) || (node.kind === 'mapping' && node.entries.length === 0);
}

function readTestName(context: FileContext, node: Node, what: string): TestDeclaration['name'] {
  const name = readFreeText(context, node, what);
  if (name?.value.trim() !== '') return name;
  const message = 'the name of a test is empty';
  return refuse(context, 'VALUE_EMPTY', { at: name, message, help: 'say what the test shows' });
}

/** `resource:write /beamlines/amx` */
function readAccess(context: FileContext, written: TextNode): AccessExpectation | null {
  const parts = cutExpectation(context, written, 'a scope, a space and a namespace: `resource:read /labs`');
  if (parts === null) return null;
  const { head } = parts;
  const namespace = namespaceOf(context, parts.path, `\`${parts.path.text}\``);
  const scope = scopeIn(context, head.text);
  if (scope === null) {
    const { vocabulary } = context.words;
    if (parseScopePattern(head.text, vocabulary) === null) return refuseScope(context, head, vocabulary.scopes);
    return refuse(context, 'SCOPE_NOT_SINGLE', {
      at: head,
      message: `\`${head.text}\` means several scopes`,
      help: 'write one line per scope',
    });
  }
  if (namespace === null) return null;
  return { scope, namespace: namespace.value, start: written.start, end: written.end };
}

/** A scope that the policy knows, or may know. */
function scopeIn({ words }: FileContext, text: string): ScopeName | null {
  if (knowsScope(words.vocabulary, text)) return text;
  return words.hidesOthers && isOwnScope(text) ? text : null;
}

function readSeen(context: FileContext, { key, value: places }: Entry): VisibilityExpectation | null {
  const parts = cutExpectation(context, key, 'a family, a space and a namespace: `resource /labs`');
  const namespaces = NAMESPACES.read(context, places, `\`${key.text}\``);
  if (parts === null) return null;
  const { head, path } = parts;
  const { vocabulary, hidesOthers } = context.words;
  const known = vocabulary.familyNames;
  const family = known.includes(head.text) || (hidesOthers && isName(head.text)) ? head.text : null;
  if (family === null) {
    const help = nearestHelp(head.text, known) ?? `families are ${known.map((name) => `\`${name}\``).join(', ')}`;
    refuse(context, 'TEST_EXPECTATION', { at: head, message: `\`${head.text}\` is not a family`, help });
  }
  const namespace = namespaceOf(context, path, `\`${path.text}\``);
  if (family === null || namespace === null || namespaces === null) return null;
  return { family, context: namespace.value, namespaces, start: key.start, end: key.end };
}

/** Cuts a text into a word and a path, with one space between. `due` describes that for messages. */
function cutExpectation(
  context: FileContext,
  written: TextNode,
  due: string,
): { readonly head: WrittenText; readonly path: WrittenText } | null {
  const [head = '', path = '', more] = written.text.split(' ');
  if (head === '' || path === '' || more !== undefined) {
    const message = `\`${written.text}\` is not an expectation`;
    return refuse(context, 'TEST_EXPECTATION', { at: written, message, help: `write ${due}` });
  }
  // Parts get exact places only if the text stands in the file without escapes.
  const start = written.plain ? written.start : written.start + 1;
  const exact = context.text.startsWith(written.text, start);
  const part = (word: string, from: number): WrittenText =>
    exact ? { text: word, start: from, end: from + word.length } : { ...written, text: word };
  return { head: part(head, start), path: part(path, start + head.length + 1) };
}
