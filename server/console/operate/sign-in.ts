// Who is there: an admin key that is typed in, or the address that `bailiwick console` printed.
import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { html } from '../page/html.js';
import { type GatewayClient, makeGateway, openSession } from './gateway.js';
import type { Refusal } from './refusal.js';

export type SignInMethod = 'key' | 'address';

export interface SignInProps {
  readonly door: SignInMethod;
  readonly note: string | null;
  readonly onRefused: (refusal: Refusal) => void;
  readonly onGateway: (gateway: GatewayClient) => void;
}

export function SignIn(props: SignInProps): VNode {
  return html`<main class="panel sign-in">
    <h1>Bailiwick console</h1>
    ${props.note !== null && html`<p class="bad" role="alert">${props.note}</p>`}
    ${props.door === 'key' ? html`<${ByKey} ...${props} />` : html`<${ByAddress} ...${props} />`}
  </main>`;
}

function ByKey({ onGateway, onRefused }: SignInProps): VNode {
  const field = useRef<HTMLInputElement>(null);
  const [note, setNote] = useState<string | null>(null);
  const [isAsking, setAsking] = useState(false);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const { current } = field;
    if (current === null || current.value.trim() === '') return;
    let isIn = false;
    const gateway = makeGateway(current.value.trim(), (refusal) => {
      if (isIn) onRefused(refusal);
    });
    // From here on the key is in the closure of the gateway alone.
    current.value = '';
    setAsking(true);
    const told = await gateway.get('/admin/v1/shadow');
    setAsking(false);
    isIn = told.kind === 'told';
    if (told.kind === 'told') onGateway(gateway);
    else setNote(told.text);
  };
  return html`<form onSubmit=${submit} autocomplete="off">
    <p>
      Type an admin key: <code>bailiwick keys create --actor NAME --admin</code> makes one. It stays in the memory of
      this page, and is forgotten when the page is closed or loaded again.
    </p>
    <div class="bar">
      <label
        >Admin key <input ref=${field} type="password" autocomplete="off" spellcheck="false" required size="48"
      /></label>
      <button type="submit" class="main" disabled=${isAsking}>Sign in</button>
    </div>
    ${note !== null && html`<p class="bad" role="alert">${note}</p>`}
  </form>`;
}

function ByAddress({ onGateway, onRefused }: SignInProps): VNode {
  const [note, setNote] = useState('Opening the session…');
  useEffect(() => {
    const code = location.hash.slice(1);
    // Neither the history nor whoever looks over a shoulder keeps the code.
    history.replaceState(null, '', location.pathname);
    if (code === '') {
      setNote(
        'This session was in the memory of a page that is gone. Run `bailiwick console` again and open the address that it prints.',
      );
      return;
    }
    void openSession(code).then((told) => {
      if (told.kind === 'told') onGateway(makeGateway(told.value.session, onRefused));
      else setNote(told.text);
    });
  }, []);
  return html`<p role="status">${note}</p>`;
}
