// `bailiwick local`: the same queries as the unrestricted single user, for this machine only (design 2.3, 6).
import type { Command } from 'commander';
import type { CliIo } from '../io.js';
import { formatOption, withExamples, withSettings } from '../options.js';
import type { GatewayCommandOptions } from '../run-gateway.js';

export function registerLocal(program: Command, io: CliIo): void {
  const command = program
    .command('local')
    .description('answer queries without policy and keys, on loopback only: every user of this machine is served')
    .addOption(formatOption())
    .action(async (options: GatewayCommandOptions) => {
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
