// What went wrong, as one sentence about it and one about what to do.
import type { Problem } from './answers.js';

export interface Refusal {
  readonly kind: 'refused';
  /** Null if there was no answer. */
  readonly status: number | null;
  readonly code: string;
  readonly text: string;
}

const BY_CODE: ReadonlyMap<string, string> = new Map(
  Object.entries({
    'auth.required': 'Sign in again.',
    'auth.invalid': 'The admin key is wrong, expired or revoked, or it is no admin key. Sign in with another one.',
    'console.session': 'This session has ended. Run `bailiwick console` again and open the address that it prints.',
    'console.used':
      'An address works once. Run `bailiwick console` again and open the new one. If it was not you who opened this one before, end the other command with Ctrl-C.',
    'console.unreachable': 'Start the gateway, or wait until it is back; the page asks again.',
    'request.host': 'Open the page under the address that the gateway listens on.',
    'key.not_found': 'Look at the list of keys again: another admin may have changed it.',
    'snapshot.not_found':
      'Look at the list of snapshots again: the store keeps those used last. Upload the file if it is gone.',
    'snapshot.refused': 'The snapshot that was in force stays in force. The reason is in the log of the gateway.',
    'snapshot.rollback_refused':
      'Its statement is older than one that was accepted. Roll back instead, which says why, or publish the snapshot again with a newer statement.',
    'snapshot.invalid':
      'Nothing was stored. Compile the policy again, and upload the whole file, with its statement if signatures are required.',
    'snapshot.busy': 'Another upload is being verified. Try again in a moment.',
    'snapshot.unavailable': 'Try again in a moment. If it lasts, look at the source of the policy.',
    'snapshot.expired': 'The gateway decides nothing before it has a newer policy or its source confirms this one.',
    'audit.unavailable': 'Nothing was done. Try again once that is mended.',
    'audit.unreadable': 'Search a shorter time, or use `bailiwick audit` where the log is.',
    'db.unavailable': 'Nothing was done. Look whether the store answers, and try again.',
    'db.timeout': 'Try again when the store has less to do.',
    'limit.rate': 'Wait a moment, and try again.',
    overloaded: 'Wait a moment, and try again.',
    shutting_down: 'The gateway is about to end. Try again when it is back.',
    'request.schema': 'Correct what is named and send it again.',
    'request.too_large': 'Send less at once.',
    internal: 'The log of the gateway says more under this request id.',
  }),
);

const BY_STATUS: ReadonlyMap<number, string> = new Map([
  [403, 'Sign in with an admin key.'],
  [404, 'Look at the list again.'],
  [409, 'Somebody else may have changed it. Look at the state again.'],
  [503, 'Try again in a moment.'],
]);

/** For a write of which nobody knows whether it was done. */
const IN_DOUBT = 'It may have been done. Look at the list before you try again.';

export function refusalOf(status: number, { title, code, requestId, outcome, errors = [] }: Problem): Refusal {
  const what = title ?? `The gateway answered with status ${String(status)}`;
  const where = errors.map(({ pointer, message }) => `${pointer === '' ? '' : `${pointer.slice(1)}: `}${message}`);
  const known = BY_CODE.get(code ?? '') ?? BY_STATUS.get(status) ?? 'The log of the gateway says more.';
  const advice = outcome === 'unknown' ? IN_DOUBT : known;
  const id = requestId === undefined ? '' : ` Request ${requestId}.`;
  const text = `${[what, ...where].join('. ').replaceAll('..', '.')}. ${advice}${id}`;
  return { kind: 'refused', status, code: code ?? '', text };
}

export function unreachable(): Refusal {
  return {
    kind: 'refused',
    status: null,
    code: 'console.lost',
    text: 'The gateway does not answer: it has ended, or the connection is lost. The page asks again every few seconds.',
  };
}
