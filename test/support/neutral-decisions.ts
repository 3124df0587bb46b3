// The shared conformance cases of decisions as they are read from the file: neutral requests, and the answers of an evaluator
// that shares nothing with this project.
import { readFileSync } from 'node:fs';
import type { Identity } from '../../engine/index.js';
import type { NeutralPolicy } from './neutral-policy.js';
import { fromRoot } from './root.js';

export interface NeutralActor {
  readonly local?: boolean;
  readonly identities: readonly Identity[];
  readonly scopes: 'all' | readonly string[];
  readonly restrictions: readonly string[] | null;
}

export interface NeutralRequest {
  readonly kind: string;
  readonly scope: string;
  readonly context?: string;
  readonly target: string;
  readonly source: string;
  readonly destination: string;
}

export interface DecisionCase {
  readonly id: string;
  readonly policy: string;
  readonly actor: string;
  readonly request: NeutralRequest;
  readonly expect: {
    readonly decision: string;
    readonly step?: string;
    readonly cause?: string;
    readonly grants?: readonly string[];
  };
}

export interface LoadingCase {
  readonly id: string;
  readonly note: string;
  readonly expect: 'load' | 'refuse';
  readonly policy?: NeutralPolicy;
  readonly raw_json?: string;
}

export interface NeutralDecisions {
  readonly policies: Readonly<Record<string, NeutralPolicy & { readonly unrestricted?: boolean }>>;
  readonly actors: Readonly<Record<string, NeutralActor>>;
  readonly cases: readonly DecisionCase[];
  readonly policy_loading: readonly LoadingCase[];
}

export function readConformance(name: string): unknown {
  return JSON.parse(readFileSync(fromRoot(`fixtures/conformance/${name}`), 'utf8'));
}

export function readNeutralDecisions(): NeutralDecisions {
  return readConformance('decisions.json') as NeutralDecisions;
}
