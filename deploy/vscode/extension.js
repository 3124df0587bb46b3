// Starts `bailiwick lsp` for the workspace; everything else is the language server's.
const { workspace } = require('vscode');
const { LanguageClient } = require('vscode-languageclient/node');

let client;

exports.activate = async () => {
  const [command, ...args] = workspace.getConfiguration('bailiwick').get('command');
  const cwd = workspace.workspaceFolders?.[0]?.uri.fsPath;
  client = new LanguageClient(
    'bailiwick',
    'Bailiwick',
    { command, args, options: { cwd } },
    {
      documentSelector: [{ scheme: 'file', language: 'yaml' }],
      synchronize: { fileEvents: workspace.createFileSystemWatcher('**/*.{yaml,yml}') },
    },
  );
  await client.start();
};

exports.deactivate = () => client?.stop();
