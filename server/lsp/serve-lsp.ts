// The language server: an editor's requests over stdio, answered from the entire policy folder (docs/editors.md).
import { fileURLToPath, pathToFileURL } from 'node:url';
import {
  CodeActionKind,
  CodeLensRefreshRequest,
  createConnection,
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
import type { NamePlace } from '../../engine/compiler.js';
import { type Instant, instantOf } from '../../engine/index.js';
import { aboutName } from '../authoring/about.js';
import { choicesAt, MOST_CHOICES, nameAt as nameIn } from '../authoring/complete.js';
import { indexPolicy } from '../authoring/policy-index.js';
import { type Folder, isSlow, type Run, startRun } from './check-folder.js';
import { type CheckedFolder, folderOfFile, makeFolderChecker, pathIn } from './policy-folder.js';
import { ITEM_KINDS, lensText, markdown, shownRange, uriOf } from './show.js';

export interface LspInput {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly version: string;
  /** The time. */
  readonly now: () => number;
}

/** Milliseconds after the last change of a text at which its folder is checked. */
const QUIET = 40;

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
    const checked = canRefresh && isSlow(folder) ? run.known() : await run.tested;
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

/** JSON-RPC: invalid params. */
const INVALID = -32602;
const RENAMED: readonly string[] = ['role', 'grant', 'guardrail', 'person'];
