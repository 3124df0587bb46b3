// The language server: an editor's requests over stdio, answered from the entire policy folder (docs/editors.md).
import { sep } from 'node:path';
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
import { ITEM_KINDS, lensText, markdown, pathOf, shownRange, uriOf } from './show.js';

export interface LspInput {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly version: string;
  /** The time. */
  readonly now: () => number;
}

interface FileOfPolicy {
  readonly folder: Folder;
  /** Its path in the folder. */
  readonly file: string;
}

/** Milliseconds after the last change of a text at which its folder is checked. */
const QUIET = 40;

/** Runs until the editor ends it. */
export function serveLsp({ stdin, stdout, version, now }: LspInput): Promise<void> {
  const connection = createConnection(new StreamMessageReader(stdin), new StreamMessageWriter(stdout));
  const documents = new TextDocuments(TextDocument);
  const folders = new Map<string, Folder>();
  const at = (): Instant => instantOf(now());

  const folderAt = (path: string): Folder => {
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
  /** Null for what is in no policy folder. */
  const fileOf = async (uri: string): Promise<FileOfPolicy | null> => {
    const path = pathOf(uri);
    const folder = path === null ? null : await folderOfFile(path);
    return path === null || folder === null ? null : { folder: folderAt(folder), file: pathIn(folder, path) };
  };
  /** The texts of open files, which may differ from the disk. */
  const openIn = ({ path }: Folder): ReadonlyMap<string, string> =>
    new Map(
      documents.all().flatMap((document): [string, string][] => {
        const opened = pathOf(document.uri);
        return opened?.startsWith(path + sep) === true ? [[pathIn(path, opened), document.getText()]] : [];
      }),
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
    const changedFile = await fileOf(uri);
    if (changedFile === null) return;
    const { folder } = changedFile;
    if (where === 'disk') folder.checker.forget();
    later(folder);
  };
  /** The name at a place, and the folder that it is in. */
  const nameAt = async (asked: {
    readonly textDocument: { readonly uri: string };
    readonly position: { readonly line: number; readonly character: number };
  }): Promise<{ readonly folder: Folder; readonly checked: CheckedFolder; readonly name: NamePlace } | null> => {
    const shown = await fileOf(asked.textDocument.uri);
    if (shown === null) return null;
    const { folder, file } = shown;
    const checked = await check(folder).read;
    const name = nameIn(checked.names.get(file) ?? [], asked.position);
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
    const [edited, document] = [await fileOf(textDocument.uri), documents.get(textDocument.uri)];
    if (edited === null || document === undefined) return [];
    const { folder, file } = edited;
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
    const shown = await fileOf(textDocument.uri);
    if (shown === null) return [];
    const { folder, file } = shown;
    const run = check(folder);
    const read = await run.read;
    if (read.set === null) return [];
    // Where a step takes long, the last results of the tests are shown until they have run again. Then the editor is asked to refresh.
    const checked = canRefresh && isSlow(folder) ? run.known() : await run.tested;
    const index = indexPolicy(read.set);
    const names = checked.names.get(file) ?? [];
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
