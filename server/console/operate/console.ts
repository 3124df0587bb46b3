// The console: what runs, what may run next, who holds keys, what the log says, and the questions of the playground about
// what runs. It never writes policy.
import type { VNode } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { startView, type View } from '../map/picture.js';
import { type Engine, startEngine, type Working } from '../page/engine.js';
import { call, html } from '../page/html.js';
import { MapPane } from '../page/map-pane.js';
import { mount, textIn } from '../page/mount.js';
import { PersonPane } from '../page/person-pane.js';
import { Seal, type SealProps } from '../page/seal.js';
import { TabList } from '../page/tab-list.js';
import { useCurrent } from '../page/use-current.js';
import { plain } from '../page/words.js';
import type { WhyQuestion } from '../worker/protocol.js';
import type { Status } from './answers.js';
import { type CandidateSnapshot, openRunning, type SnapshotFacts } from './candidate.js';
import { CandidatePane } from './candidate-pane.js';
import { FolderWhy } from './folder-why.js';
import type { GatewayClient } from './gateway.js';
import { KeysPane } from './keys-pane.js';
import { LogPane } from './log-pane.js';
import type { Refusal } from './refusal.js';
import { RunsPane } from './runs-pane.js';
import { SignIn, type SignInMethod } from './sign-in.js';
import { SnapshotsPane } from './snapshots-pane.js';
import { useParts } from './use-parts.js';

const TABS = [
  ['runs', 'What runs'],
  ['snapshots', 'Snapshots'],
  ['changes', 'What changed'],
  ['map', 'Who and where'],
  ['person', 'One person'],
  ['why', 'Why'],
  ['keys', 'Keys'],
  ['log', 'Log'],
] as const;

type Tab = (typeof TABS)[number][0];

/** Milliseconds between two looks at what runs. */
const LOOKS = 3_000;
/** Milliseconds after which what runs is opened again if that failed. */
const OPENS_AGAIN = 30_000;

interface ConsoleState {
  readonly tab: Tab;
  readonly status: Status | null;
  /** Why what is shown is no longer what runs. */
  readonly lost: string | null;
  readonly ended: string | null;
  readonly said: string | null;
  readonly working: Working | null;
  readonly facts: SnapshotFacts | null;
  readonly version: number;
  readonly at: number;
  readonly view: View;
  readonly who: string;
  readonly question: WhyQuestion;
  /** The digest of what runs with the edits that were made in the page; null without any. */
  readonly edited: string | null;
  readonly gateway: GatewayClient | null;
  readonly candidate: CandidateSnapshot | null;
}

function Console({ door, script }: { readonly door: SignInMethod; readonly script: string }): VNode {
  const [state, change] = useParts<ConsoleState>(startState());
  const engines = useMemo(
    () =>
      lazyEngines(script, (working) => {
        change({ working });
      }),
    [script],
  );
  const { tab, status, lost, facts, version, at, view, gateway, candidate } = state;
  const running = status?.snapshot ?? null;
  const signOut = (ended: string | null): void => {
    change({ ...startState(), ended });
  };
  const onRefused = ({ status: answered, code, text }: Refusal): void => {
    // The command of a session has ended with it, so somebody else may answer at its address from now on.
    if (answered === 401 || (door === 'address' && code === 'console.lost')) signOut(door === 'address' ? ENDED : text);
  };
  // What was done may have changed what runs.
  useCurrent([gateway, state.said], (isCurrent) => {
    if (gateway === null) return undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    // One after the other: a slow gateway must not have many to answer, nor an old answer replace a newer one.
    const look = async (): Promise<void> => {
      const told = await gateway.get<Status>('/admin/v1/status');
      if (!isCurrent()) return;
      change(told.kind === 'told' ? { status: told.value, lost: null } : { lost: told.text });
      timer = setTimeout(() => void look(), LOOKS);
    };
    void look();
    return () => {
      clearTimeout(timer);
    };
  });
  const asksPolicy = tab === 'map' || tab === 'person' || tab === 'why';
  const opening = useRef<string | null>(null);
  useEffect(() => {
    if (
      gateway === null ||
      running === null ||
      !asksPolicy ||
      facts?.snapshot === running ||
      opening.current === running
    )
      return;
    opening.current = running;
    void openRunning(gateway, engines.running(), { running, otherwise: 'It is not shown.' }).then((opened) => {
      if (typeof opened === 'string')
        setTimeout(() => {
          if (opening.current === running) opening.current = null;
        }, OPENS_AGAIN);
      else opening.current = null;
      if (typeof opened === 'string') change({ said: opened });
      else change((before) => ({ facts: opened, version: before.version + 1 }));
    });
    // With each status, so that what failed is tried again.
  }, [gateway, running, asksPolicy, facts, status]);
  // Made anew only with what it shows: a field that somebody is typing into must not be written over by a look at the status.
  const questions = useMemo(() => {
    if (facts === null) return null;
    if (tab === 'map')
      return html`<${MapPane}
        engine=${engines.running()}
        subject="rights"
        version=${version}
        scopes=${facts.scopes}
        instants=${facts.instants}
        now=${at}
        view=${view}
        onView=${(next: View) => {
          change({ view: next });
        }}
      />`;
    if (tab === 'person')
      return html`<${PersonPane}
        engine=${engines.running()}
        facts=${facts}
        version=${version}
        at=${view.at ?? at}
        who=${state.who}
        onWho=${(who: string) => {
          change({ who });
        }}
      />`;
    return null;
  }, [facts, tab, version, view, at, state.who]);
  const isWhy = tab === 'why';
  const wasWhy = useRef(false);
  wasWhy.current = facts !== null && (isWhy || wasWhy.current);
  // It stays with the folder and the edits that somebody has in it.
  const why = useMemo(
    () =>
      facts !== null &&
      wasWhy.current &&
      html`<div class="right" hidden=${!isWhy}>
        <${FolderWhy}
          engine=${engines.running()}
          script=${script}
          facts=${facts}
          running=${facts.snapshot}
          version=${version}
          at=${view.at ?? at}
          question=${state.question}
          onEdited=${(edited: string | null) => {
            change({ edited });
          }}
          onQuestion=${(question: WhyQuestion) => {
            change({ question });
          }}
        />
      </div>`,
    [facts, isWhy, version, view, at, state.question],
  );
  if (gateway === null) {
    return html`<${SignIn}
      door=${door}
      note=${state.ended}
      onRefused=${onRefused}
      onGateway=${(opened: GatewayClient) => {
        change({ gateway: opened });
      }}
    />`;
  }
  return html`<div class="page">
    <a class="skip" href="#pane">Skip to the tab</a>
    <header>
      <h1>Bailiwick console</h1>
      <span>${status === null ? '' : plain(status.policy)}</span>
      ${status !== null && !status.ready && html`<span class="bad" role="status">not ready</span>`}
      <button type="button" onClick=${call(signOut, door === 'address' ? ENDED : null)}>Sign out</button>
      <span class="working" role="status"
        >${state.working === null ? '' : html`${state.working.doing} <progress aria-label=${state.working.doing} max="1" value=${state.working.done === 0 ? undefined : state.working.done}></progress>`}</span
      >
      ${
        (tab !== 'changes' || candidate === null) &&
        html`<${Seal}
          digests=${tab === 'why' && state.edited !== null ? editedDigests(running, state.edited) : [['', running ?? 'nothing is known yet']]}
          at=${asksPolicy ? view.at : Date.now() - (Date.now() % 1000)}
        />`
      }
    </header>
    ${lost !== null && html`<p class="bad notice" role="alert">${plain(lost)}${status === null ? '' : ' What is shown is what was known before.'}</p>`}
    ${
      state.said !== null &&
      html`<p class="notice" role="status">
        ${plain(state.said)}
        <button type="button" onClick=${call(change, { said: null })}>Close</button>
      </p>`
    }
    <main class="right">
      <${TabList}
        tabs=${TABS}
        tab=${tab}
        label="Parts of the console"
        onTab=${(next: Tab) => {
          change({ tab: next });
        }}
      />
      <div id="pane" class="right" role="tabpanel" tabindex="0" aria-labelledby=${`tab-${tab}`}>
        ${status === null && lost === null && html`<div class="panel"><p role="status">Asking the gateway…</p></div>`}
        ${status !== null && tab === 'runs' && html`<${RunsPane} gateway=${gateway} status=${status} />`}
        ${
          running !== null &&
          tab === 'snapshots' &&
          html`<${SnapshotsPane}
            gateway=${gateway}
            running=${running}
            done=${state.said}
            onCandidate=${(chosen: CandidateSnapshot) => {
              change({ candidate: chosen, tab: 'changes' });
            }}
          />`
        }
        ${
          running !== null &&
          tab === 'changes' &&
          html`<${CandidatePane}
            gateway=${gateway}
            engine=${engines.candidate}
            running=${running}
            candidate=${candidate}
            onDone=${(said: string, next: CandidateSnapshot | null) => {
              change((before) => ({
                said,
                candidate: next,
                // A large snapshot takes seconds, and somebody may look at something else by then.
                tab: next === null && before.tab === 'changes' ? 'snapshots' : before.tab,
              }));
            }}
          />`
        }
        ${asksPolicy && running !== null && facts === null && html`<div class="panel"><p role="status">Opening what runs…</p></div>`}
        ${facts !== null && facts.snapshot !== running && asksPolicy && html`<p class="notice warning" role="status">Another snapshot runs by now; it is being opened.</p>`}
        ${questions} ${why} ${tab === 'keys' && html`<${KeysPane} gateway=${gateway} />`}
        ${tab === 'log' && html`<${LogPane} gateway=${gateway} engine=${engines.past} />`}
      </div>
    </main>
  </div>`;
}

const ENDED = 'This session has ended. Run `bailiwick console` again and open the address that it prints.';

function startState(): ConsoleState {
  const at = Math.floor(Date.now() / 1000) * 1000;
  return {
    ...{ tab: 'runs', status: null, lost: null, ended: null, said: null, working: null, facts: null, version: 0 },
    ...{ at, view: { ...startView(at), grouping: 'identities' }, who: '', edited: null },
    ...{ question: { who: '', scope: 'resource:write', namespace: '' }, gateway: null, candidate: null },
  };
}

function editedDigests(running: string | null, edited: string): SealProps['digests'] {
  return [
    ['runs', running ?? ''],
    ['shown, with your edits', edited],
  ];
}

interface Engines {
  readonly running: () => Engine;
  readonly candidate: () => Engine;
  readonly past: () => Engine;
}

/** One for what runs, one for a comparison, one for the past: none of them waits for another. */
function lazyEngines(script: string, onWork: (working: Working | null) => void): Engines {
  const lazy = (): (() => Engine) => {
    let engine: Engine | null = null;
    return () => (engine ??= startEngine(script, onWork));
  };
  return { running: lazy(), candidate: lazy(), past: lazy() };
}

mount(html`<${Console} script=${textIn('engine')} door=${textIn('door') === '"address"' ? 'address' : 'key'} />`);
