// The section `tests` (docs/language.md "Tests").
import type { AccessExpectation, TestDeclaration, VisibilityExpectation } from '../model/document.js';
import { parseIdentity } from '../model/identity.js';
import { ALL_SCOPES, FAMILIES, isFamily, isScopeName, parseScopePattern, SCOPES } from '../model/scope.js';
import { refuse, type FileContext } from './context.js';
import {
  firstLine,
  mayHaveLost,
  readEntries,
  readFields,
  readFreeText,
  readList,
  readText,
  refuseRepeated,
  type Fields,
} from './fields.js';
import { readScopeList, refuseScope, unionOf } from './scope-values.js';
import { ACTOR, TEST } from './shapes.js';
import type { Node, TextNode } from './tree.js';
import { namespaceOf, nearestHelp, readIdentities, readInstant, readNamespaces } from './values.js';

export function decodeTests(context: FileContext, node: Node): readonly TestDeclaration[] {
  const tests: TestDeclaration[] = [];
  for (const item of readList(context, node, '`tests`') ?? []) {
    const fields = readFields(context, item, TEST);
    if (fields !== null) tests.push(decodeTest(context, item, fields));
  }
  return tests;
}

function decodeTest(context: FileContext, node: Node, fields: Fields): TestDeclaration {
  const [name, at, sees] = [fields.get('name'), fields.get('at'), fields.get('sees')];
  const [allow, deny] = [fields.get('allow'), fields.get('deny')];
  const expectations = [allow, deny, sees].filter((entry) => entry !== undefined);
  if (expectations.every(({ value }) => isEmpty(value)) && !mayHaveLost(node, fields)) {
    const message = 'the test expects nothing, so it would always pass';
    refuse(context, 'TEST_EXPECTS_NOTHING', {
      at: name?.value ?? firstLine(context, node),
      message,
      help: 'add `allow`, `deny` or `sees`',
    });
  }
  return {
    name: name === undefined ? null : readTestName(context, name.value),
    ...decodeActor(context, fields),
    at: at === undefined ? null : readInstant(context, at.value, '`at`'),
    allow: allow === undefined ? [] : readAccesses(context, allow.value, '`allow`'),
    deny: deny === undefined ? [] : readAccesses(context, deny.value, '`deny`'),
    sees: sees === undefined ? [] : readSees(context, sees.value),
  };
}

function isEmpty(node: Node): boolean {
  return (node.kind === 'list' && node.items.length === 0) || (node.kind === 'mapping' && node.entries.length === 0);
}

function readTestName(context: FileContext, node: Node): TestDeclaration['name'] {
  const name = readFreeText(context, node, '`name`');
  if (name?.value.trim() !== '') return name;
  return refuse(context, 'VALUE_EMPTY', {
    at: name,
    message: 'the name of a test is empty',
    help: 'say what the test shows',
  });
}

function decodeActor(
  context: FileContext,
  test: Fields,
): Pick<TestDeclaration, 'identities' | 'credentialScopes' | 'namespaceRestrictions'> {
  const actor = test.get('actor');
  const fields = actor === undefined ? null : readActor(context, actor.value);
  const [identities, scopes, restrictions] = [
    fields?.get('identities'),
    fields?.get('credentialScopes'),
    fields?.get('namespaceRestrictions'),
  ];
  const options = { what: '`credentialScopes`', place: 'policy' } as const;
  return {
    identities: identities === undefined ? [] : (readIdentities(context, identities.value, '`identities`') ?? []),
    credentialScopes: scopes === undefined ? ALL_SCOPES : unionOf(readScopeList(context, scopes.value, options) ?? []),
    namespaceRestrictions:
      restrictions === undefined
        ? null
        : (readNamespaces(context, restrictions.value, '`namespaceRestrictions`') ?? []),
  };
}

/** One identity, or a list of them, is not an actor yet. */
function readActor(context: FileContext, node: Node): Fields | null {
  const isIdentity = (part: Node): boolean => part.kind === 'text' && parseIdentity(part.text).ok;
  const source = context.text.slice(node.start, node.end);
  const isMeant = node.kind === 'list' ? node.items.length > 0 && node.items.every(isIdentity) : isIdentity(node);
  if (!isMeant || source.includes('\n')) return readFields(context, node, ACTOR);
  const list = source.startsWith('[') ? source : `[${source}]`;
  return refuse(context, 'VALUE_NOT_MAPPING', {
    at: node,
    message: `${ACTOR.what} must be a mapping, and this is ${node.kind === 'list' ? 'a list' : 'text'}`,
    help: `write \`{ identities: ${list} }\``,
  });
}

function readAccesses(context: FileContext, node: Node, what: string): readonly AccessExpectation[] {
  const items = readList(context, node, what) ?? [];
  const texts = items.map((item) => readText(context, item, `an entry of ${what}`)).filter((text) => text !== null);
  return refuseRepeated(context, texts)
    .map((text) => readAccess(context, text))
    .filter((access) => access !== null);
}

/** `resource:write /beamlines/amx` */
function readAccess(context: FileContext, text: TextNode): AccessExpectation | null {
  const parts = cutExpectation(context, text, 'a scope, a space and a namespace: `resource:read /labs`');
  if (parts === null) return null;
  const { head } = parts;
  const namespace = namespaceOf(context, parts.path, `\`${parts.path.text}\``);
  if (!isScopeName(head.text)) {
    if (parseScopePattern(head.text) === null) return refuseScope(context, head, SCOPES);
    return refuse(context, 'SCOPE_NOT_SINGLE', {
      at: head,
      message: `\`${head.text}\` stands for several scopes`,
      help: 'write one line per scope',
    });
  }
  return namespace === null ? null : { scope: head.text, namespace: namespace.value, start: text.start, end: text.end };
}

function readSees(context: FileContext, node: Node): readonly VisibilityExpectation[] {
  const sees: VisibilityExpectation[] = [];
  for (const { key, value } of readEntries(context, node, '`sees`') ?? []) {
    const parts = cutExpectation(context, key, 'a family, a space and a namespace: `resource /labs`');
    const namespaces = readNamespaces(context, value, `\`${key.text}\``);
    if (parts === null) continue;
    const { head, path } = parts;
    const family = isFamily(head.text) ? head.text : null;
    if (family === null) {
      const help =
        nearestHelp(head.text, FAMILIES) ?? `families are ${FAMILIES.map((name) => `\`${name}\``).join(', ')}`;
      refuse(context, 'TEST_EXPECTATION', { at: head, message: `\`${head.text}\` is not a family`, help });
    }
    const namespace = namespaceOf(context, path, `\`${path.text}\``);
    if (family === null || namespace === null || namespaces === null) continue;
    sees.push({ family, context: namespace.value, namespaces, start: key.start, end: key.end });
  }
  return sees;
}

interface Part {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

function cutExpectation(
  context: FileContext,
  text: TextNode,
  due: string,
): { readonly head: Part; readonly path: Part } | null {
  const words = text.text.split(' ');
  const [head, path] = words;
  if (words.length !== 2 || head === undefined || path === undefined || head === '' || path === '') {
    return refuse(context, 'TEST_EXPECTATION', {
      at: text,
      message: `\`${text.text}\` is not an expectation`,
      help: `write ${due}`,
    });
  }
  // Places within the text, where it is written as it reads.
  const inner = text.plain ? text.start : text.start + 1;
  const exact = context.text.startsWith(text.text, inner);
  const place = (from: number, length: number): { start: number; end: number } =>
    exact ? { start: inner + from, end: inner + from + length } : { start: text.start, end: text.end };
  return {
    head: { text: head, ...place(0, head.length) },
    path: { text: path, ...place(head.length + 1, path.length) },
  };
}
