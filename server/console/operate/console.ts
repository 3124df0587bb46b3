// The console: what runs, what may run next, who holds keys, what the log says, and the questions of the playground about
// what runs. It never writes policy.
import { render, type VNode } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { View } from '../map/picture.js';
import { closeByEscape } from '../page/close-opened.js';
import { type Engine, startEngine, type Working } from '../page/engine.js';
import { html } from '../page/html.js';
import { keepFocus } from '../page/keep-focus.js';
import { MapPane } from '../page/map-pane.js';
import { PersonPane } from '../page/person-pane.js';
import { Seal, type SealProps } from '../page/seal.js';
import { startView } from '../page/state.js';
import { TabList } from '../page/tab-list.js';
import { plain } from '../page/words.js';
import type { WhyQuestion } from '../worker/protocol.js';
import type { Status } from './answers.js';
import { type CandidateSnapshot, open, type SnapshotFacts } from './candidate.js';
import { CandidatePane } from './candidate-pane.js';
import { useDraft } from './draft.js';
import { FolderWhy } from './folder-why.js';
import type { GatewayClient } from './gateway.js';
import { KeysPane } from './keys-pane.js';
import { LogPane } from './log-pane.js';
import { RunsPane } from './runs-pane.js';
import { SignIn, type SignInMethod } from './sign-in.js';
import { SnapshotsPane } from './snapshots-pane.js';

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
}

function Console({ door, script }: { readonly door: SignInMethod; readonly script: string }): VNode {
  const [state, change] = useDraft<ConsoleState>(startState());
  const [held, changeHeld] = useDraft<{
    readonly gateway: GatewayClient | null;
    readonly candidate: CandidateSnapshot | null;
  }>({
    ...{ gateway: null, candidate: null },
  });
  const { gateway, candidate } = held;
  const engines = useMemo(
    () =>
      lazyEngines(script, (working) => {
        change((draft) => {
          draft.working = working;
        });
      }),
    [script],
  );
  const { tab, status, lost, facts, version, at, view } = state;
  const running = status?.snapshot ?? null;
  const signOut = (why: string | null): void => {
    change((draft) => {
      Object.assign(draft, { ...startState(), ended: why });
    });
    changeHeld((draft) => {
      Object.assign(draft, { gateway: null, candidate: null });
    });
  };
  const onRefused = ({
    status: answered,
    code,
    text,
  }: {
    readonly status: number | null;
    readonly code: string;
    readonly text: string;
  }): void => {
    // The command of a session has ended with it, so somebody else may answer at its address from now on.
    if (answered === 401 || (door === 'address' && code === 'console.lost')) signOut(door === 'address' ? ENDED : text);
  };
  useEffect(() => {
    if (gateway === null) return undefined;
    let isCurrent = true;
    let timer: ReturnType<typeof setTimeout> | undefined;
    // One after the other: a slow gateway must not have many to answer, nor an old answer replace a newer one.
    const look = async (): Promise<void> => {
      const told = await gateway.get<Status>('/admin/v1/status');
      if (!isCurrent) return;
      change((draft) => {
        if (told.kind === 'told') Object.assign(draft, { status: told.value, lost: null });
        else draft.lost = told.text;
      });
      timer = setTimeout(() => void look(), LOOKS);
    };
    void look();
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
    // What was done may have changed what runs.
  }, [gateway, state.said]);
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
    void openRunning(gateway, engines.running(), running).then((opened) => {
      if (typeof opened === 'string')
        setTimeout(() => {
          if (opening.current === running) opening.current = null;
        }, OPENS_AGAIN);
      else opening.current = null;
      change((draft) => {
        if (typeof opened === 'string') draft.said = opened;
        else Object.assign(draft, { facts: opened, version: draft.version + 1 });
      });
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
          change((draft) => {
            Object.assign(draft, { view: next });
          });
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
          change((draft) => {
            draft.who = who;
          });
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
            change((draft) => {
              draft.edited = edited;
            });
          }}
          onQuestion=${(question: WhyQuestion) => {
            change((draft) => {
              Object.assign(draft, { question });
            });
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
        changeHeld((draft) => {
          Object.assign(draft, { gateway: opened });
        });
      }}
    />`;
  }
  return html`<div class="page">
    <a class="skip" href="#pane">Skip to the tab</a>
    <header>
      <h1>Bailiwick console</h1>
      <span>${status === null ? '' : plain(status.policy)}</span>
      ${status !== null && !status.ready && html`<span class="bad" role="status">not ready</span>`}
      <button
        type="button"
        onClick=${() => {
          signOut(door === 'address' ? ENDED : null);
        }}
      >
        Sign out
      </button>
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
        <button
          type="button"
          onClick=${() => {
            change((draft) => {
              draft.said = null;
            });
          }}
        >
          Close
        </button>
      </p>`
    }
    <main class="right">
      <${TabList}
        tabs=${TABS}
        tab=${tab}
        label="Parts of the console"
        onTab=${(next: Tab) => {
          change((draft) => {
            draft.tab = next;
          });
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
              changeHeld((draft) => {
                Object.assign(draft, { candidate: chosen });
              });
              change((draft) => {
                draft.tab = 'changes';
              });
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
              changeHeld((draft) => {
                Object.assign(draft, { candidate: next });
              });
              change((draft) => {
                draft.said = said;
                // A large snapshot takes seconds, and somebody may look at something else by then.
                if (next === null && draft.tab === 'changes') draft.tab = 'snapshots';
              });
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
    question: { who: '', scope: 'resource:write', namespace: '' },
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

async function openRunning(gateway: GatewayClient, engine: Engine, running: string): Promise<SnapshotFacts | string> {
  const told = await gateway.bytes(`/admin/v1/snapshots/${running}`);
  if (told.kind === 'refused') return told.text;
  const opened = await open(engine, told.value, 'opened');
  if (typeof opened === 'string') return `What runs cannot be opened: ${opened}.`;
  return opened.snapshot === running ? opened : 'The gateway sent another snapshot than it runs. It is not shown.';
}

const [root, script, door] = ['page', 'engine', 'door'].map((id) => document.getElementById(id));
if (root !== null && root !== undefined) {
  root.replaceChildren();
  keepFocus(root);
  closeByEscape(root);
  render(
    html`<${Console}
      script=${script?.textContent ?? ''}
      door=${door?.textContent === '"address"' ? 'address' : 'key'}
    />`,
    root,
  );
}
