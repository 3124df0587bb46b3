// API keys: which there are, a new one that is shown this once, and the end of one.
import type { VNode } from 'preact';
import { useEffect } from 'preact/hooks';
import { closeOpened } from '../page/close-opened.js';
import { Choice, Field } from '../page/fields.js';
import { call, html } from '../page/html.js';
import { plain } from '../page/words.js';
import { Table } from '../page/table.js';
import type { ShownKey } from '../../api/admin-schemas.js';
import type { GatewayClient } from './gateway.js';
import { useParts } from './use-parts.js';

const KINDS = [
  ['data', 'for the API, as somebody'],
  ['decide', 'for a service that asks about others'],
  ['monitor', 'for monitoring'],
  ['admin', 'for admins'],
] as const;

interface KeysState {
  readonly keys: readonly ShownKey[] | null;
  readonly kind: string;
  readonly fields: Readonly<Record<(typeof FIELDS)[number]['name'], string>>;
  /** The key that is about to be revoked. */
  readonly ending: string | null;
  /** Shown once. */
  readonly made: string | null;
  readonly note: string | null;
}

const EMPTY: KeysState['fields'] = { actor: '', identities: '', scopes: '', restrictions: '', expires: '' };

export function KeysPane({ gateway }: { readonly gateway: GatewayClient }): VNode {
  const [state, change] = useParts<KeysState>({
    ...{ keys: null, kind: 'data', fields: EMPTY, ending: null, made: null, note: null },
  });
  const list = async (): Promise<void> => {
    const told = await gateway.get<{ readonly keys: readonly ShownKey[] }>('/admin/v1/keys');
    change(told.kind === 'told' ? { keys: told.value.keys } : { note: told.text });
  };
  useEffect(() => {
    void list();
  }, [gateway]);
  const create = async (event: Event): Promise<void> => {
    event.preventDefault();
    const told = await gateway.post<{ readonly key: string }>('/admin/v1/keys', bodyOf(state));
    change(told.kind === 'told' ? { fields: EMPTY, made: told.value.key, note: null } : { note: told.text });
    await list();
  };
  const revoke = async (id: string): Promise<void> => {
    const told = await gateway.post(`/admin/v1/keys/${encodeURIComponent(id)}/revoke`);
    change({ ending: null, note: told.kind === 'refused' ? told.text : null });
    await list();
  };
  const { keys, ending, made, note } = state;
  const toolsOf = (key: ShownKey | undefined): VNode | null => {
    if (key?.status !== 'active') return null;
    const isEnding = ending === key.id;
    return html`<span class=${isEnding ? 'bar opened' : 'bar'}
      ><button
        type="button"
        aria-label=${`Revoke ${key.id}`}
        aria-expanded=${String(isEnding)}
        onClick=${call(change, { ending: isEnding ? null : key.id })}
      >
        Revoke</button
      >${
        isEnding &&
        html`<button type="button" class="main" onClick=${call(revoke, key.id)}>Revoke ${key.id} now</button
          ><button
            type="button"
            onClick=${({ currentTarget }: MouseEvent) => {
              if (currentTarget instanceof Element) closeOpened(currentTarget);
            }}
          >
            Keep it
          </button>`
      }</span
    >`;
  };
  return html`<div class="panel">
    ${note !== null && html`<p class="bad" role="alert">${plain(note)}</p>`}
    ${
      made !== null &&
      html`<section class="made" aria-live="polite">
        <h2>The new key</h2>
        <p><code>${made}</code></p>
        <p>It is shown this once. Store it now, where only its owner reads it.</p>
        <div class="bar">
          <button
            type="button"
            onClick=${() => {
              navigator.clipboard.writeText(made).catch(() => {
                change({ note: 'The browser refused to copy. Select the key and copy it.' });
              });
            }}
          >
            Copy
          </button>
          <button type="button" onClick=${call(change, { made: null })}>It is stored: show it no more</button>
        </div>
      </section>`
    }
    <h2>A new key</h2>
    <form class="bar" onSubmit=${create} autocomplete="off">
      <${Choice}
        title="Kind"
        value=${state.kind}
        onValue=${(kind: string) => {
          change({ kind });
        }}
      >
        ${KINDS.map(([kind, text]) => html`<option key=${kind} value=${kind}>${text}</option>`)}
      <//>
      ${FIELDS.filter(({ kinds }) => kinds.includes(state.kind)).map(
        ({ name, title, placeholder }) =>
          html`<${Field}
            key=${name}
            ...${{ title, placeholder, required: name === 'actor' }}
            value=${state.fields[name]}
            onValue=${(text: string) => {
              change((before) => ({ fields: { ...before.fields, [name]: text } }));
            }}
          />`,
      )}
      <button type="submit" class="main">Make the key</button>
    </form>
    <h2>Keys</h2>
    ${
      keys === null
        ? html`<p>Asking the gateway…</p>`
        : keys.length === 0
          ? html`<p>
              There are no keys yet. Make the first one above: a client sends it with each request, and it may do what
              its identities may.
            </p>`
          : html`<${Table}
              name="keys"
              heads=${['Key', 'Actor', 'Of', 'May at most', 'State', 'Expires', 'Used last', 'Made']}
              rows=${keys.map((key) => [key.id, key.actor, key.identities.join(', '), mayText(key), key.status, key.expires ?? 'never', key.lastUsedAt ?? 'never', key.createdAt])}
              json=${keys}
              kindOf=${(row: number, column: number) =>
                column === 0 ? 'mono' : column === 4 ? (keys[row]?.status === 'active' ? 'good' : 'faint') : ''}
              tools=${(row: number) => toolsOf(keys[row])}
            />`
    }
  </div>`;
}

const FIELDS = [
  { name: 'actor', title: 'Name in the log', placeholder: 'ana', kinds: 'data decide monitor admin' },
  { name: 'identities', title: 'Identities', placeholder: 'orcid:0000-0002-1825-0097, …', kinds: 'data' },
  { name: 'scopes', title: 'Scopes at most', placeholder: 'all', kinds: 'data decide' },
  { name: 'restrictions', title: 'Namespaces at most', placeholder: 'all', kinds: 'data decide' },
  {
    name: 'expires',
    title: 'Expires',
    placeholder: 'never, or 2027-06-30T00:00:00Z',
    kinds: 'data decide monitor admin',
  },
] as const;

function bodyOf({ kind, fields: { actor, identities, scopes, restrictions, expires } }: KeysState): object {
  const list = (text: string): readonly string[] => text.split(/[,\s]+/).filter((part) => part !== '');
  const orNull = (text: string): readonly string[] | null => (text.trim() === '' ? null : list(text));
  const end = expires.trim() === '' ? {} : { expires: expires.trim() };
  const narrowed = { scopes: orNull(scopes), restrictions: orNull(restrictions) };
  if (kind === 'data') return { actor: actor.trim(), identities: list(identities), ...narrowed, ...end };
  return { actor: actor.trim(), [kind]: true, ...(kind === 'decide' ? narrowed : {}), ...end };
}

function mayText({ scopes, restrictions, admin, decide, monitor }: ShownKey): string {
  if (admin) return 'administer';
  if (monitor) return 'monitor';
  const what = scopes === null ? 'every scope' : scopes.length === 0 ? 'no scope' : scopes.join(', ');
  const where =
    restrictions === null ? '' : ` at ${restrictions.length === 0 ? 'no namespace' : restrictions.join(', ')}`;
  return `${decide ? 'ask about ' : ''}${what}${where}`;
}
