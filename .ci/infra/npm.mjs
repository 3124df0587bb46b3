// Packages of npm that only a scenario needs: exact versions, below .run/, without their install scripts. They are no dependencies of the
// project.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fromRoot } from './gateways.mjs';

/** The folder `node_modules` that has the packages, given as `name@version`. */
export async function installed({ processes }, name, packages) {
  const folder = fromRoot(`.run/infra/${name}`);
  const modules = join(folder, 'node_modules');
  const mark = join(folder, 'installed');
  if (existsSync(mark)) return modules;
  mkdirSync(folder, { recursive: true });
  const flags = ['--no-save', '--no-package-lock', '--ignore-scripts', '--no-audit', '--no-fund'];
  await processes.run(`npm-${name}`, 'npm', ['install', '--prefix', folder, ...flags, ...packages]);
  writeFileSync(mark, `${packages.join('\n')}\n`);
  return modules;
}
