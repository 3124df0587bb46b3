// Why a running gateway did not take over a policy: plain data for log and status, which names the place and what to
// do.
import type { SnapshotFault } from '../../engine/index.js';
import { POLICY_LIMITS } from '../limits/policy.js';
import type { NotRead } from './open-policy.js';
import type { PathFault } from './path-fault.js';

export interface PolicyFault {
  readonly code: string;
  /** One line. */
  readonly message: string;
  /** `file:line:column: message` for the first mistakes in a folder. */
  readonly problems: readonly string[];
}

export function faultOfRead(read: NotRead): PolicyFault {
  switch (read.kind) {
    case 'path':
      return faultOfPath(read.fault);
    case 'too_large':
      return oneLine('snapshot.too_large', 'the file is larger than any snapshot may be');
    case 'refused':
      return faultOfFolder(read.report);
  }
}

export function faultOfPath({ kind }: PathFault): PolicyFault {
  return kind === 'missing'
    ? oneLine('source.missing', 'there is nothing at the path')
    : oneLine('source.unreadable', 'the path cannot be read');
}

export function faultOfSnapshot({ code, message }: SnapshotFault, sha256: string): PolicyFault {
  return oneLine(code, `not an intact snapshot (${sha256}): ${message}`);
}

export function oneLine(code: string, message: string): PolicyFault {
  return { code, message, problems: [] };
}

function faultOfFolder({
  invalidating,
  tests,
  guardrails,
  verdict,
}: Extract<NotRead, { kind: 'refused' }>['report']): PolicyFault {
  const problems = [
    ...invalidating.map(
      ({ file, range, message }) => `${file}:${String(range.start.line)}:${String(range.start.column)}: ${message}`,
    ),
    ...tests.failures.map(({ test, file, line }) => `${file}:${String(line)}: the test \`${test}\` fails`),
    ...guardrails.violations.map(
      ({ guardrail, file, line }) => `${file}:${String(line)}: the guardrail \`${guardrail}\` is violated`,
    ),
  ];
  return { ...SUMMARIES[verdict], problems: problems.slice(0, POLICY_LIMITS.toldProblems) };
}

const SUMMARIES = Object.freeze({
  ok: { code: 'policy.invalid', message: 'the policy cannot be served' },
  invalid: { code: 'policy.invalid', message: 'the policy has mistakes: run `bailiwick check` on the folder' },
  tests_failed: {
    code: 'policy.tests_failed',
    message: 'tests of the policy fail: run `bailiwick test` on the folder',
  },
  guardrails_violated: {
    code: 'policy.guardrail_violated',
    message: 'guardrails of the policy are violated: run `bailiwick check` on the folder',
  },
});
