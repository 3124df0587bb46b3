// The policy that the files make, as two workers read it: one answers questions as soon as the declarations are known, the other says
// what takes longer, which is lint, digests, tests and guardrails. An edit stops what the other is doing for older files.
import { useMemo, useRef, useState } from 'preact/hooks';
import type { Diagnostic } from '../../../engine/compiler.js';
import type { Facts, PolicyDifference, Proofs, TextFile } from '../worker/protocol.js';
import { type Engine, startEngine, type Working } from './engine.js';

interface PolicyState {
  readonly engine: Engine;
  readonly working: Working | null;
  readonly diagnostics: readonly Diagnostic[];
  /** Of the last files without mistakes. */
  readonly facts: Facts | null;
  /** Null while they are computed. */
  readonly proofs: Proofs | null;
  /** The digest of the files as they were opened; null while it is computed. */
  readonly opened: string | null;
  /** Since the files were opened. */
  readonly compared: PolicyDifference | null;
  /** Rises with the policy. */
  readonly version: number;
  readonly fault: string | null;
  /** The digest of the snapshot that was opened in place of files; null of files. */
  readonly compiled: string | null;
  /** Says why nothing was opened; null if it was. */
  readonly openSnapshot: (bytes: Uint8Array) => Promise<string | null>;
  readonly read: (kind: 'open' | 'edit', files: readonly TextFile[]) => void;
}

interface Known extends Omit<PolicyState, 'engine' | 'working' | 'openSnapshot' | 'read'> {
  /** Which reading `diagnostics` and `proofs` are all about. */
  readonly proved: number;
}

const NOTHING: Known = {
  ...{ diagnostics: [], facts: null, proofs: null, compared: null, version: 0, fault: null, proved: 0 },
  ...{ compiled: null, opened: null },
};

export function usePolicy(script: string, at: number): PolicyState {
  const [answering, setAnswering] = useState<Working | null>(null);
  const [proving, setProving] = useState<Working | null>(null);
  const [known, setKnown] = useState<Known>(NOTHING);
  const engine = useMemo(() => startEngine(script, setAnswering), [script]);
  const prover = useRef<{ readonly engine: Engine; isBusy: boolean } | null>(null);
  const reads = useRef(0);
  /** What was opened, as long as its digest is not known. */
  const unknown = useRef<readonly TextFile[] | null>(null);

  const prove = async (files: readonly TextFile[], own: number): Promise<void> => {
    if (prover.current?.isBusy === true) {
      prover.current.engine.stop();
      prover.current = null;
    }
    const mine = (prover.current ??= { engine: startEngine(script, setProving), isBusy: false });
    mine.isBusy = true;
    const answer = await mine.engine.ask({ kind: 'prove', files, at });
    mine.isBusy = false;
    if (own !== reads.current) return;
    const isOpened = unknown.current === files;
    if (isOpened) unknown.current = null;
    if (answer.kind === 'proved')
      setKnown((before) => ({
        ...before,
        ...(isOpened ? { opened: answer.proofs?.snapshot ?? NO_DIGEST } : {}),
        ...{ diagnostics: answer.diagnostics, proved: own },
        // What is shown while the files have mistakes is the last policy that had none.
        proofs: answer.proofs ?? (hasErrors(answer.diagnostics) ? before.proofs : null),
      }));
    else if (answer.kind === 'refused') setKnown((before) => ({ ...before, fault: answer.message }));
    // An edit came before the digest of what was opened was known.
    const opened = unknown.current;
    if (opened === null || isOpened) return;
    mine.isBusy = true;
    const late = await mine.engine.ask({ kind: 'prove', files: opened, at });
    mine.isBusy = false;
    if (unknown.current !== opened) return;
    unknown.current = null;
    const digest = late.kind === 'proved' ? (late.proofs?.snapshot ?? NO_DIGEST) : NO_DIGEST;
    setKnown((before) => ({ ...before, opened: digest }));
  };
  const read = async (kind: 'open' | 'edit', files: readonly TextFile[]): Promise<void> => {
    const own = (reads.current += 1);
    if (kind === 'open') unknown.current = files;
    if (kind === 'open') setKnown(({ version }) => ({ ...NOTHING, version }));
    // What is shown first is answered first: a machine with few cores would do both slowly.
    const checked = await engine.ask({ kind, files, at });
    if (own !== reads.current) return;
    void prove(files, own);
    if (checked.kind !== 'checked') {
      if (checked.kind === 'refused') setKnown((before) => ({ ...before, fault: checked.message }));
      return;
    }
    const { diagnostics, facts } = checked.checked;
    setKnown((before) => {
      // The other worker may have been faster; if not, what it found before stands until it answers.
      const isProved = before.proved === own;
      const older = before.diagnostics.filter(({ code }) => code.startsWith('LINT_'));
      return {
        ...before,
        fault: null,
        diagnostics: isProved ? before.diagnostics : [...diagnostics, ...older],
        ...(facts === null ? {} : { facts, version: before.version + 1 }),
        ...(facts === null || isProved ? {} : { proofs: null }),
      };
    });
    if (facts === null) return;
    const difference = await engine.ask({ kind: 'diff' });
    if (own !== reads.current) return;
    const compared = difference.kind === 'compared' ? difference.compared : null;
    setKnown((before) => ({ ...before, compared }));
  };
  const openSnapshot = async (bytes: Uint8Array): Promise<string | null> => {
    const own = (reads.current += 1);
    const answer = await engine.ask({ kind: 'open-snapshot', bytes, as: 'opened' });
    if (answer.kind !== 'opened') return answer.kind === 'refused' ? answer.message : 'it is not a snapshot';
    const { snapshot: compiled, facts } = answer;
    if (own === reads.current)
      setKnown(({ version }) => ({ ...NOTHING, compiled, facts, version: version + 1, proved: own }));
    return null;
  };
  return {
    ...known,
    ...{ engine, working: answering ?? proving, openSnapshot },
    read: (kind, files) => void read(kind, files),
  };
}

/** Files with mistakes make no snapshot. */
const NO_DIGEST = 'no snapshot';

function hasErrors(diagnostics: readonly Diagnostic[]): boolean {
  return diagnostics.some(({ severity }) => severity === 'error');
}
