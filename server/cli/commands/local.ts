// `bailiwick local`: the same queries as the unrestricted single user, for this machine only (design 2.3, 6).
import type { Command } from 'commander';
import type { CliIo } from '../io.js';
import { withSettings } from '../config-options.js';
import { formatOption, withExamples } from '../options.js';
import type { GatewayCommandOptions } from '../run-gateway.js';

export function defineLocal(command: Command, io: CliIo): void {
  command.addOption(formatOption()).action(async (options: GatewayCommandOptions) => {
    await (await import('../run-gateway.js')).local(io, options);
  });
  withSettings(command, ['config', 'dataDir', 'databaseUrl', 'listen']);
  withExamples(command, [
    ['the embedded store in .bailiwick', 'bailiwick local'],
    [
      'then, without a key',
      `curl -H 'Content-Type: application/json' -d '{"family":"resource","namespace":"/","reach":"subtree"}' http://127.0.0.1:8080/api/v1/query`,
    ],
  ]);
}
