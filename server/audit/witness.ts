// Witnesses of the audit log (C2SP tlog-witness): others who sign its checkpoints, once each is proved to go on from
// the one that they signed before. Such a signature shows that the log was never rewritten for somebody else.
import { OutgoingError, send } from '../net/outgoing.js';
import { cosignaturesOf, type NoteKey } from '../signing/signed-note.js';
import { AUDIT_LIMITS } from '../limits/logs.js';
import type { TreeHash } from '../signing/merkle.js';

export interface LogWitness {
  /** Below it is `add-checkpoint`. */
  readonly url: string;
  readonly key: NoteKey;
}

export interface Submission {
  /** The text of the checkpoint, and the note with our signature. */
  readonly text: string;
  readonly note: string;
  /** The size that the witness has signed before. */
  readonly old: number;
  readonly growth: readonly TreeHash[];
}

/**
 * `other_size`: the witness has signed another size than `old` before. `contradicted`: what it has signed is not the
 * beginning of this log.
 */
export type Cosigned =
  | { readonly kind: 'signed'; readonly lines: readonly string[] }
  | { readonly kind: 'other_size'; readonly size: number }
  | { readonly kind: 'failed' | 'contradicted'; readonly reason: string };

/** Never rejects. */
export async function cosign({ url, key }: LogWitness, submission: Submission, signal: AbortSignal): Promise<Cosigned> {
  const { text, note, old, growth } = submission;
  const proof = growth.map((one) => `${one.toString('base64')}\n`).join('');
  try {
    const { status, headers, body } = await send({
      url: `${url.replace(/\/$/, '')}/add-checkpoint`,
      text: `old ${String(old)}\n${proof}\n${note}`,
      headers: { Accept: 'text/plain' },
      maxBytes: AUDIT_LIMITS.witnessBytes,
      timeout: AUDIT_LIMITS.witnessTimeout,
      signal,
    });
    const answer = body.toString('utf8');
    if (status === 200) {
      const lines = cosignaturesOf(text, answer, key);
      return lines.length > 0 ? { kind: 'signed', lines } : failed('its answer has no signature of its key');
    }
    const size = /^(0|[1-9]\d{0,14})\n$/.exec(answer)?.[1];
    if (status === 409 && headers['content-type'] === 'text/x.tlog.size' && size !== undefined) {
      return { kind: 'other_size', size: Number(size) };
    }
    const against = CONTRADICTIONS.get(status);
    if (against !== undefined) return { kind: 'contradicted', reason: against };
    return failed(REASONS.get(status) ?? `it answers ${String(status)}`);
  } catch (error) {
    if (!(error instanceof OutgoingError)) throw error;
    return failed(`it ${error.message}`);
  }
}

function failed(reason: string): Cosigned {
  return { kind: 'failed', reason };
}

const REASONS: ReadonlyMap<number, string> = new Map([
  [403, 'it does not know the key of this log'],
  [404, 'it does not know this log'],
]);

const CONTRADICTIONS: ReadonlyMap<number, string> = new Map([
  [409, 'it has signed another checkpoint of this size'],
  [422, 'the log does not begin with what it has signed before'],
]);
