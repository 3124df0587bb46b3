// The language server: an editor's requests over stdio, answered from the entire policy folder (docs/editors.md).
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import {
  CodeActionKind,
  CodeLensRefreshRequest,
  CompletionItemKind,
  createConnection,
  type Connection,
  DiagnosticSeverity,
  type Diagnostic as Shown,
  type Location,
  type Range as ShownRange,
  ResponseError,
  StreamMessageReader,
  StreamMessageWriter,
  TextDocuments,
  TextDocumentSyncKind,
  type WorkspaceEdit,
} from 'vscode-languageserver/node';
import { TextDocument } from 'vscode-languageserver-textdocument';
import type { Readable, Writable } from 'node:stream';
import type { NamePlace, PolicySet } from '../../engine/compiler.js';
import { type Instant, instantOf, InvariantError } from '../../engine/index.js';
import { aboutName, type SaidLine } from '../authoring/about.js';
import { choicesAt, MOST_CHOICES, nameAt as nameIn } from '../authoring/complete.js';
import { indexPolicy, type PolicyIndex } from '../authoring/policy-index.js';
import { type CheckedFolder, folderOfFile, type FolderChecker, makeFolderChecker, pathIn } from './policy-folder.js';

export interface LspInput {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly version: string;
  /** The time. */
  readonly now: () => number;
}

/** Milliseconds after the last change of a text at which its folder is checked. */
const QUIET = 40;

interface Folder {
  readonly path: string;
  readonly checker: FolderChecker;
  readonly published: Set<string>;
  run: Run | null;
  /** Milliseconds that the longest step of a check took. */
  slowest: number;
  /** The last change of a text, or the last request. */
  active: number;
  /** As it was when it had no mistakes: what is being typed often is one. */
  good: PolicySet | null;
  timer: NodeJS.Timeout | null;
}

/** A check of the texts as they are. */
interface Run {
  /** Once the names are known. */
  readonly read: Promise<CheckedFolder>;
  /** Once their tests have run. */
  readonly tested: Promise<CheckedFolder>;
  /** What its steps have found so far. Called once the names are known. */
  readonly known: () => CheckedFolder;
}

/** Runs until the editor ends it. */
export function serveLsp({ stdin, stdout, version, now }: LspInput): Promise<void> {
  const connection = createConnection(new StreamMessageReader(stdin), new StreamMessageWriter(stdout));
  const documents = new TextDocuments(TextDocument);
  const folders = new Map<string, Folder>();
  const at = (): Instant => instantOf(now());

  const folderOf = async (uri: string): Promise<Folder | null> => {
    if (!uri.startsWith('file:')) return null;
    const path = await folderOfFile(fileURLToPath(uri));
    if (path === null) return null;
    const known = folders.get(path);
    if (known !== undefined) {
      known.active = performance.now();
      return known;
    }
    const made: Folder = {
      path,
      checker: makeFolderChecker(path),
      published: new Set<string>(),
      run: null,
      slowest: 0,
      active: performance.now(),
      good: null,
      timer: null,
    };
    folders.set(path, made);
    return made;
  };
  /** The texts of open files, which may differ from the disk. */
  const openIn = ({ path }: Folder): ReadonlyMap<string, string> =>
    new Map(
      documents
        .all()
        .filter(({ uri }) => uri.startsWith(`${pathToFileURL(path).href}/`))
        .map((document) => [pathIn(path, fileURLToPath(document.uri)), document.getText()]),
    );
  const check = (folder: Folder): Run =>
    (folder.run ??= startRun({ connection, folder, open: openIn(folder), now, refresh }));
  const later = (folder: Folder): void => {
    folder.run = null;
    if (folder.timer !== null) clearTimeout(folder.timer);
    folder.timer = setTimeout(() => {
      check(folder);
    }, QUIET);
  };
  const changed = async (uri: string, where: 'editor' | 'disk'): Promise<void> => {
    const folder = await folderOf(uri);
    if (folder === null) return;
    if (where === 'disk') folder.checker.forget();
    later(folder);
  };
  /** The name at a place, and the folder that it is in. */
  const nameAt = async (asked: {
    readonly textDocument: { readonly uri: string };
    readonly position: { readonly line: number; readonly character: number };
  }): Promise<{ readonly folder: Folder; readonly checked: CheckedFolder; readonly name: NamePlace } | null> => {
    const folder = await folderOf(asked.textDocument.uri);
    if (folder === null) return null;
    const checked = await check(folder).read;
    const found = checked.names.get(pathIn(folder.path, fileURLToPath(asked.textDocument.uri))) ?? [];
    const name = nameIn(found, asked.position);
    return name === null ? null : { folder, checked, name };
  };
  const placesOf = (
    folder: Folder,
    checked: CheckedFolder,
    name: NamePlace,
  ): readonly (Location & { readonly declares: boolean })[] =>
    [...checked.names].flatMap(([file, names]) =>
      names
        .filter((one) => one.kind === name.kind && one.name === name.name)
        .map((one) => ({ uri: uriOf(folder, file), range: shownRange(one.range), declares: one.declares })),
    );

  let canRefresh = false;
  const refresh = (): void => {
    if (!canRefresh) return;
    connection.sendRequest(CodeLensRefreshRequest.type).catch((error: unknown) => {
      connection.console.error(`the editor did not refresh the code lenses: ${String(error)}`);
    });
  };
  connection.onInitialize(({ capabilities: { workspace } }) => {
    canRefresh = workspace?.codeLens?.refreshSupport === true;
    return {
      serverInfo: { name: 'bailiwick', version },
      capabilities: {
        textDocumentSync: TextDocumentSyncKind.Incremental,
        completionProvider: { triggerCharacters: [':', '[', ',', ' ', '-'] },
        hoverProvider: true,
        definitionProvider: true,
        referencesProvider: true,
        renameProvider: { prepareProvider: true },
        codeActionProvider: { codeActionKinds: [CodeActionKind.QuickFix] },
        codeLensProvider: {},
      },
    };
  });
  documents.onDidChangeContent(({ document }) => void changed(document.uri, 'editor'));
  documents.onDidSave(({ document }) => void changed(document.uri, 'disk'));
  documents.onDidClose(({ document }) => void changed(document.uri, 'disk'));
  connection.onDidChangeWatchedFiles(({ changes }) => {
    for (const { uri } of changes) void changed(uri, 'disk');
  });
  connection.onCompletion(async ({ textDocument, position }) => {
    const [folder, document] = [await folderOf(textDocument.uri), documents.get(textDocument.uri)];
    if (folder === null || document === undefined) return [];
    const file = pathIn(folder.path, fileURLToPath(textDocument.uri));
    const { names } = await check(folder).read;
    const choices = choicesAt({ names, set: folder.good }, { file, text: document.getText(), place: position });
    const items = choices.map(({ text, about, kind }) => ({
      ...{ label: text, detail: about, kind: ITEM_KINDS[kind] },
      ...(kind === 'key' ? { insertText: `${text}: ` } : {}),
    }));
    return choices.length < MOST_CHOICES ? items : { isIncomplete: true, items };
  });
  connection.onHover(async (asked) => {
    const found = await nameAt(asked);
    if (found === null || found.folder.good === null) return null;
    const said = aboutName(indexPolicy(found.folder.good), found.name, at());
    return said === null
      ? null
      : { contents: { kind: 'markdown', value: markdown(said) }, range: shownRange(found.name.range) };
  });
  connection.onDefinition(async (asked) => {
    const found = await nameAt(asked);
    if (found === null) return [];
    return placesOf(found.folder, found.checked, found.name).filter(({ declares }) => declares);
  });
  connection.onReferences(async (asked) => {
    const found = await nameAt(asked);
    if (found === null) return [];
    const { includeDeclaration } = asked.context;
    return placesOf(found.folder, found.checked, found.name).filter(({ declares }) => includeDeclaration || !declares);
  });
  connection.onPrepareRename(async (asked) => {
    const found = await nameAt(asked);
    return found === null || !RENAMED.includes(found.name.kind)
      ? null
      : { range: shownRange(found.name.range), placeholder: found.name.name };
  });
  connection.onRenameRequest(async (asked): Promise<WorkspaceEdit | null> => {
    const found = await nameAt(asked);
    if (found === null || !RENAMED.includes(found.name.kind)) return null;
    const { folder, checked, name } = found;
    if (!/^[a-z0-9][a-z0-9._-]{0,127}$/.test(asked.newName))
      throw new ResponseError(
        INVALID,
        `\`${asked.newName}\` is not a name: use lower-case letters, digits, \`.\`, \`_\` and \`-\``,
      );
    const isTaken = [...checked.names.values()]
      .flat()
      .some((one) => one.kind === name.kind && one.name === asked.newName && one.declares);
    if (isTaken) throw new ResponseError(INVALID, `there is a ${name.kind} \`${asked.newName}\` already`);
    const changes: Record<string, { range: ShownRange; newText: string }[]> = {};
    for (const { uri, range } of placesOf(folder, checked, name))
      (changes[uri] ??= []).push({ range, newText: asked.newName });
    return { changes };
  });
  connection.onCodeAction(({ textDocument, context }) =>
    context.diagnostics.flatMap((diagnostic) => {
      const text = typeof diagnostic.message === 'string' ? diagnostic.message : '';
      const meant = /did you mean `([^`]+)`\?/.exec(text)?.[1];
      if (meant === undefined) return [];
      const edit = { changes: { [textDocument.uri]: [{ range: diagnostic.range, newText: meant }] } };
      return [{ title: `Write ${meant}`, kind: CodeActionKind.QuickFix, diagnostics: [diagnostic], edit }];
    }),
  );
  connection.onCodeLens(async ({ textDocument }) => {
    const folder = await folderOf(textDocument.uri);
    if (folder === null) return [];
    const run = check(folder);
    const read = await run.read;
    if (read.set === null) return [];
    // Where a step takes long, the last results of the tests are shown until they have run again. Then the editor is asked to refresh.
    const checked = canRefresh && folder.slowest > LONG ? run.known() : await run.tested;
    const index = indexPolicy(read.set);
    const names = checked.names.get(pathIn(folder.path, fileURLToPath(textDocument.uri))) ?? [];
    return names.flatMap((name) => {
      const title = name.declares ? lensText(index, checked.covered, name) : null;
      return title === null ? [] : [{ range: shownRange(name.range), command: { title, command: '' } }];
    });
  });
  const ended = new Promise<void>((resolve) => {
    connection.onShutdown(() => undefined);
    connection.onExit(() => {
      resolve();
    });
    stdin.once('end', resolve);
  });
  documents.listen(connection);
  connection.listen();
  return ended.finally(() => {
    for (const { timer } of folders.values()) if (timer !== null) clearTimeout(timer);
    connection.dispose();
  });
}

/** Longer steps wait until nobody types, since nothing else is answered meanwhile. */
const LONG = 100;
/** Milliseconds without a change after which a long step begins. */
const PAUSE = 600;

interface Checking {
  readonly connection: Connection;
  readonly folder: Folder;
  readonly open: ReadonlyMap<string, string>;
  readonly now: () => number;
  /** What was shown about grants has changed. */
  readonly refresh: () => void;
}

/** A later change of the texts ends it after the step that it is in. */
function startRun({ connection, folder, open, now, refresh }: Checking): Run {
  const steps = folder.checker.check(open, instantOf(now()));
  const isCurrent = (): boolean => folder.run === run;
  let last: CheckedFolder | null = null;
  let slowest = 0;
  /** False at the end, and once something newer is checked. */
  const step = async (): Promise<boolean> => {
    if (last !== null) {
      await quiet(folder, isCurrent);
      if (!isCurrent()) return false;
    }
    const began = performance.now();
    const { done, value } = await steps.next();
    slowest = Math.max(slowest, performance.now() - began);
    folder.slowest = Math.max(folder.slowest, slowest);
    if (done === true) return false;
    last = value;
    folder.good = value.set ?? folder.good;
    // Where all steps are short, what they found is shown at once.
    if (isCurrent() && folder.slowest > LONG) await publish(connection, folder, value);
    return true;
  };
  const known = (): CheckedFolder => {
    if (last === null) throw new InvariantError('the first step always answers');
    return last;
  };
  const read = step().then(known);
  const tested = read.then(async ({ covered }) => {
    await step();
    if (folder.slowest > LONG && known().covered !== covered) refresh();
    return known();
  });
  const rest = async (): Promise<void> => {
    await tested;
    while (await step());
    if (!isCurrent()) return;
    folder.slowest = slowest;
    if (slowest <= LONG) await publish(connection, folder, known());
  };
  rest().catch((error: unknown) => {
    connection.console.error(`the policy could not be checked: ${String(error)}`);
  });
  const run: Run = { read, tested, known };
  return run;
}

/** Lets waiting requests be answered. A long step begins only after a while without typing or requests. */
async function quiet(folder: Folder, isCurrent: () => boolean): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  while (isCurrent() && folder.slowest > LONG) {
    const wait = folder.active + PAUSE - performance.now();
    if (wait <= 0) return;
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}

/** JSON-RPC: invalid params. */
const INVALID = -32602;
const RENAMED: readonly string[] = ['role', 'grant', 'guardrail', 'person'];
const ITEM_KINDS = {
  key: CompletionItemKind.Property,
  name: CompletionItemKind.Variable,
  scope: CompletionItemKind.EnumMember,
  namespace: CompletionItemKind.Folder,
};

function lensText(index: PolicyIndex, covered: CheckedFolder['covered'], { kind, name }: NamePlace): string | null {
  if (kind === 'role')
    return `${counted(index.membersOf(name).length, 'identity', 'identities')}, ${counted(index.grantsTo(name).length, 'grant', 'grants')}`;
  const grant = kind === 'grant' ? index.grant(name) : undefined;
  if (grant === undefined) return null;
  const holders = grant.principal.kind === 'role' ? index.membersOf(grant.principal.role).length : 1;
  const held = `held by ${counted(holders, 'identity', 'identities')}`;
  return covered === null
    ? held
    : `${held}, in ${counted(covered.get(name) ?? 0, 'expectation', 'expectations')} of tests`;
}

function markdown(lines: readonly SaidLine[]): string {
  const written = ({ kind, text }: SaidLine[number]): string =>
    kind === 'text'
      ? text.replaceAll(/[\\`*_{}[\]<>()#+!|]/g, (character) => `\\${character}`)
      : `\`${text.replaceAll('`', "'")}\``;
  return lines
    .map((parts) => parts.map((part) => (part.kind === 'strong' ? `**${written(part)}**` : written(part))).join(''))
    .join('  \n');
}

function counted(count: number, one: string, many: string): string {
  return `${String(count)} ${count === 1 ? one : many}`;
}

async function publish(connection: Connection, folder: Folder, checked: CheckedFolder): Promise<void> {
  const byFile = new Map<string, Shown[]>();
  const add = (file: string, shown: Shown): void => {
    const own = byFile.get(file);
    if (own === undefined) byFile.set(file, [shown]);
    else own.push(shown);
  };
  for (const { code, severity, file, range, message, help, related } of checked.diagnostics) {
    add(file, {
      ...{ code, source: 'bailiwick', range: shownRange(range) },
      severity: severity === 'error' ? DiagnosticSeverity.Error : DiagnosticSeverity.Warning,
      message: help === undefined ? message : `${message}\n${help}`,
      relatedInformation: related.map((one) => ({
        location: { uri: uriOf(folder, one.file), range: shownRange(one.range) },
        message: one.message,
      })),
    });
  }
  for (const { file, line, message } of checked.problems) {
    const range = { start: { line: line - 1, character: 0 }, end: { line: line - 1, character: 1000 } };
    add(file, { source: 'bailiwick', range, severity: DiagnosticSeverity.Error, message });
  }
  // A file without mistakes has an empty list, once, so that the editor forgets what it had.
  const cleared = [...folder.published].filter((file) => !byFile.has(file));
  folder.published.clear();
  for (const file of byFile.keys()) folder.published.add(file);
  const lists: readonly (readonly [string, Shown[]])[] = [
    ...byFile,
    ...cleared.map((file): [string, Shown[]] => [file, []]),
  ];
  for (const [file, diagnostics] of lists) await connection.sendDiagnostics({ uri: uriOf(folder, file), diagnostics });
}

function uriOf({ path }: Folder, file: string): string {
  return pathToFileURL(join(path, file)).href;
}

function shownRange({ start, end }: NamePlace['range']): ShownRange {
  return {
    start: { line: start.line - 1, character: start.column - 1 },
    end: { line: end.line - 1, character: end.column - 1 },
  };
}
