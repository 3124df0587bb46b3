// `bailiwick serve`: the gateway, from a policy and a store to an orderly end (design 5, 6).
import type { Command } from 'commander';
import type { CliIo } from '../io.js';
import { withSettings } from '../config-options.js';
import { formatOption, withExamples } from '../options.js';
import type { GatewayCommandOptions } from '../run-gateway.js';

export function defineServe(command: Command, io: CliIo): void {
  command.addOption(formatOption()).action(async (options: GatewayCommandOptions) => {
    await (await import('../run-gateway.js')).serve(io, options);
  });
  withSettings(command, ['config', 'policy', 'dataDir', 'databaseUrl', 'listen']);
  withExamples(command, [
    ['a policy folder, checked and compiled first, and the embedded store', 'bailiwick serve --policy policies'],
    [
      'a snapshot and an external PostgreSQL',
      'DATABASE_URL=postgres://bailiwick@db.example.org/bailiwick bailiwick serve --policy snapshot.json',
    ],
    [
      'then, with a key of `bailiwick keys create`',
      `curl -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -d '{"family":"resource","namespace":"/"}' http://127.0.0.1:8080/api/v1/query`,
    ],
  ]);
}
