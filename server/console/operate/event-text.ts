// Events of the audit log in a line each, and what each of them asked the policy.
import { countText } from '../page/words.js';
import type { PastAccess } from '../worker/protocol.js';
import type { EventAccess, LogEvent } from './answers.js';

export const EVENT_HEADS = ['When', 'Outcome', 'Who', 'What', 'Where', 'Because'];

export function eventRow(event: LogEvent): readonly string[] {
  const { time, outcome, kind, actor, operation, access, step, grants = [], items, records = [], shown, fault } = event;
  const { key, snapshot, status } = event;
  return [
    time,
    outcome,
    actor.id,
    operation,
    placeOf(access),
    [
      ...(outcome === 'failed' && status !== null ? [`status ${String(status)}`] : []),
      ...(step === undefined ? [] : [`at ${step}`]),
      ...(grants.length === 0 ? [] : [`by ${grants.join(', ')}`]),
      ...(items === undefined ? [] : [kind === 'query' ? `${String(items)} shown` : countText(items, 'time')]),
      ...(key === undefined ? [] : [`key ${key}`]),
      ...(kind === 'admin' && snapshot !== null && /^(?:snapshot|shadow)\./.test(operation)
        ? [snapshot.slice(0, 19)]
        : []),
      ...records,
      ...(shown === 'maybe' ? ['may have shown it'] : []),
      ...(fault === undefined ? [] : ['DOES NOT VERIFY']),
    ].join('; '),
  ];
}

function placeOf(access: EventAccess | null): string {
  if (access === null) return '';
  if ('source' in access) return `${access.source} to ${access.destination}`;
  const { creates, target, reach } = access;
  return `${creates ?? target}${reach === undefined ? '' : ` (${reach})`}`;
}

/** What was asked of the policy, in the order in which it was asked; nothing for events that asked nothing. */
export function accessesOf({ access, actor, subject = actor, time }: LogEvent): readonly PastAccess[] {
  if (access === null) return [];
  const { identities, credentialScopes, namespaceRestrictions } = subject;
  const at = Date.parse(time);
  const of = (scope: string, context: string, target: string): PastAccess => ({
    ...{ identities, credentialScopes, namespaceRestrictions, scope, context, target, at },
  });
  if (!('source' in access)) return [of(access.scope, access.context, access.target)];
  const { source, destination, family, moves } = access;
  return [
    of(`${family}:read`, source, source),
    ...(moves === true ? [of(`${family}:write`, source, source)] : []),
    of(`${family}:write`, destination, destination),
  ];
}
