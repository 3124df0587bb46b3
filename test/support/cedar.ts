// Cedar itself, as WebAssembly, in a process of its own: Node 20 can end in a fault of V8 where calls into WebAssembly are inlined, so
// they are not.
import { execFileSync } from 'node:child_process';
import type { AuthorizationCall, EntityJson } from '@cedar-policy/cedar-wasm/nodejs';
import { fromRoot } from './root.js';

export interface CedarFiles {
  readonly policies: string;
  readonly entities: readonly EntityJson[];
  readonly schema: string;
}

/** Without what is the same for all requests. */
export type CedarRequest = Pick<AuthorizationCall, 'principal' | 'action' | 'resource' | 'context' | 'entities'>;

export interface CedarReport {
  /** What is wrong with the files; empty if they are valid. */
  readonly faults: readonly unknown[];
  /** In the order of the requests; a text says why there is no decision. */
  readonly answers: readonly (boolean | string)[];
}

const CHILD = `const cedar = require('@cedar-policy/cedar-wasm/nodejs');
const { policies, entities, schema, requests } = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const set = { staticPolicies: policies };
const valid = cedar.validate({ schema, policies: set, validationSettings: { mode: 'strict' } });
const checks = [cedar.checkParseEntities({ entities, schema }), cedar.preparsePolicySet('p', set), cedar.preparseSchema('s', schema)];
const faults = [...(valid.errors ?? valid.validationErrors), ...checks.filter(({ type }) => type !== 'success')];
const shared = { preparsedPolicySetId: 'p', preparsedSchemaName: 's', validateRequest: true };
const answers = requests.map((request) => {
  const answer = cedar.statefulIsAuthorized({ ...request, ...shared });
  if (answer.type !== 'success') return answer.errors.map(({ message }) => message).join();
  const { decision, diagnostics } = answer.response;
  return diagnostics.errors.length > 0 ? JSON.stringify(diagnostics.errors) : decision === 'allow';
});
process.stdout.write(JSON.stringify({ faults, answers }));`;

export function askCedar(files: CedarFiles, requests: readonly CedarRequest[]): CedarReport {
  // Optimizing code that runs for a second takes longer than running it.
  const printed = execFileSync(process.execPath, ['--liftoff-only', '--no-turbo-inline-js-wasm-calls', '-e', CHILD], {
    ...{ cwd: fromRoot('.'), input: JSON.stringify({ ...files, requests }), encoding: 'utf8', maxBuffer: 1 << 28 },
  });
  return JSON.parse(printed) as CedarReport;
}
