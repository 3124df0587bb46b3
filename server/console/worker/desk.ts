// Everything that is asked of the engine, over the policy that was opened and the policy as it was edited since.
import {
  acceptedFindings,
  diffChecks,
  diffDrafts,
  type DiffReport,
  makeChangeMap,
  rememberingReader,
} from '../../../engine/compiler.js';
import { formatIdentity, type Instant, instantOf } from '../../../engine/index.js';
import { answerLine } from '../../asking/decide-line.js';
import { aboutName } from '../../authoring/about.js';
import { indexPolicy } from '../../authoring/policy-index.js';
import { choicesAt, nameAt } from '../../authoring/complete.js';
import type { Cast } from '../map/columns.js';
import { makePicture, type Picture, type PictureGround } from '../map/picture.js';
import {
  answerApply,
  answerExplain,
  answerPastAccess,
  answerWhatCan,
  answerWhoCan,
  proposals,
  refused,
} from './answers.js';
import { cellDetail } from './cell-detail.js';
import { type OpenPolicy, openFiles, openSnapshot, proveFiles, type Reading } from './policy.js';
import type { Ask, Checked, Facts, PolicyDifference, Subject, TimedQuestion, WorkerAnswer } from './protocol.js';
import { weakerChecks } from './weaker.js';

type Progress = (doing: string, done: number) => void;

export interface Desk {
  readonly answer: (ask: Ask) => WorkerAnswer;
  /** Counts on until the time is up; the picture of which a column was finished. */
  readonly work: (isTimeUp: () => boolean) => Subject | null;
  /** The part that is done of what is being counted; null if nothing is. */
  readonly working: () => number | null;
}

export function makeDesk(onProgress: Progress): Desk {
  let first: OpenPolicy | null = null;
  let now: OpenPolicy | null = null;
  let compared: { readonly report: DiffReport; readonly with: OpenPolicy } | null = null;
  const pictures = new Map<Subject, { readonly picture: Picture; readonly at: Instant | null }>();

  let names: Reading['names'] = () => new Map();
  const reader = rememberingReader();
  const onPhase = (doing: string): void => {
    onProgress(doing, 0);
  };
  const take = (opened: OpenPolicy | null, isFirst: boolean): void => {
    if (opened !== null) [now, compared] = [opened, null];
    if (isFirst) first = opened;
    else first ??= opened;
  };
  const read = (ask: Extract<Ask, { readonly kind: 'open' | 'edit' }>): Checked => {
    const reading = openFiles(ask.files, reader, onPhase);
    names = reading.names;
    take(reading.open, ask.kind === 'open');
    const { diagnostics, open } = reading;
    return { diagnostics, facts: open === null ? null : factsOf(open) };
  };
  const readSnapshot = (ask: Extract<Ask, { readonly kind: 'open-snapshot' }>): WorkerAnswer => {
    onProgress('reading', 0);
    const opened = openSnapshot(ask.bytes);
    if (typeof opened === 'string') return refused(opened);
    take(opened, ask.as === 'opened');
    return { kind: 'opened', snapshot: opened.policy.digest, facts: factsOf(opened) };
  };
  const diff = (): DiffReport | null => {
    if (first === null || now === null) return null;
    if (compared?.with === now) return compared.report;
    onProgress('comparing', 0);
    compared = { report: diffDrafts(first.policy, now.policy), with: now };
    return compared.report;
  };
  const ground = (subject: Subject, open: OpenPolicy): PictureGround => {
    if (subject === 'rights') {
      const { map } = open;
      const tallies: PictureGround['tallies'] = (identities, at) => [map.tally(identities, at)];
      return { nodes: map.nodes, cast: castOf(open), layers: 1, scopes: map.scopes, tallies, count: map.count };
    }
    const report = diff();
    const { nodes, identities, scopes, tallies } = makeChangeMap(report?.gained ?? [], report?.lost ?? []);
    return { nodes, cast: changedCast(open, identities), layers: 2, scopes, tallies };
  };

  let proposing: Proposing | null = null;
  /** What an older question began is given up. */
  const propose = (open: OpenPolicy, question: TimedQuestion): WorkerAnswer => {
    const of = JSON.stringify(question);
    if (proposing?.of !== of || proposing.open !== open)
      proposing = { of, open, steps: proposals(open, question), last: refused('nothing was proposed') };
    const step = proposing.steps.next();
    if (step.done === true) return proposing.last;
    proposing.last = step.value;
    return step.value;
  };

  const answer = (ask: Ask): WorkerAnswer => {
    if (ask.kind === 'open' || ask.kind === 'edit') return { kind: 'checked', checked: read(ask) };
    if (ask.kind === 'prove')
      return { kind: 'proved', ...proveFiles({ files: ask.files, at: instantOf(ask.at) }, reader, onPhase) };
    if (ask.kind === 'complete')
      return { kind: 'choices', choices: choicesAt({ names: names(), set: now?.set ?? null }, ask) };
    if (ask.kind === 'open-snapshot') return readSnapshot(ask);
    if (now === null) return refused('the files have mistakes: correct them first');
    switch (ask.kind) {
      case 'view': {
        const at = ask.view.at === null ? null : instantOf(ask.view.at);
        const picture = makePicture(ground(ask.subject, now), ask.view, at);
        pictures.set(ask.subject, { picture, at });
        return { kind: 'size', size: picture.size };
      }
      case 'frame':
      case 'cell':
      case 'table': {
        const known = pictures.get(ask.subject);
        if (known === undefined) return refused('nothing is shown yet');
        if (ask.kind === 'frame') return { kind: 'shown', shown: known.picture.show(ask.frame) };
        if (ask.kind === 'table') return { kind: 'cells', ...known.picture.held(MOST_CELLS) };
        const report = ask.subject === 'changes' ? diff() : null;
        return { kind: 'cell', cell: cellDetail(now, { ...known, line: ask.line, column: ask.column, report }) };
      }
      case 'who-can':
        return answerWhoCan(now, ask);
      case 'what-can':
        return answerWhatCan(now, ask);
      case 'decide': {
        const { policy } = now;
        const at = instantOf(ask.at);
        return { kind: 'decided', answers: ask.lines.map((line) => answerLine(policy, line, at)) };
      }
      case 'explain':
        return answerExplain(now, ask.question);
      case 'about': {
        const name = nameAt(names().get(ask.file) ?? [], ask.place);
        return {
          kind: 'said',
          said: name === null || now.set === null ? null : aboutName(indexPolicy(now.set), name, instantOf(ask.at)),
        };
      }
      case 'edits':
        return propose(now, ask.question);
      case 'apply':
        return answerApply(now, ask);
      case 'explain-access':
        return answerPastAccess(now, ask.access);
      case 'diff': {
        const report = diff();
        if (first === null || report === null) return refused('the files had mistakes when they were opened');
        return { kind: 'compared', compared: toCompared(first, now, report) };
      }
    }
  };
  return {
    answer,
    work: (isTimeUp) => {
      for (const [subject, { picture }] of pictures) {
        if (picture.working() === null) continue;
        return picture.work(isTimeUp) ? subject : null;
      }
      return null;
    },
    working: () => {
      for (const { picture } of pictures.values()) {
        const part = picture.working();
        if (part !== null) return part;
      }
      return null;
    },
  };
}

/** Of a table: a second of counting. */
const MOST_CELLS = 50_000;

interface Proposing {
  readonly of: string;
  readonly open: OpenPolicy;
  readonly steps: Generator<WorkerAnswer, undefined, undefined>;
  last: WorkerAnswer;
}

function castOf({ set, map }: OpenPolicy): Cast {
  const rowOf = new Map(map.identities.map((text, row) => [text, row]));
  const people = (set?.people ?? []).map(({ name, identities }) => ({
    name,
    identities: identities.flatMap((identity) => rowOf.get(formatIdentity(identity)) ?? []),
  }));
  return { identities: map.identities, roles: map.roles, people: people.filter((one) => one.identities.length > 0) };
}

/** The people and roles of the policy as it is now, as far as something changes for them. */
function changedCast(open: OpenPolicy, identities: readonly string[]): Cast {
  const whole = castOf(open);
  const rowOf = new Map(identities.map((text, row) => [text, row]));
  const rows = (list: readonly number[]): readonly number[] =>
    list.flatMap((row) => rowOf.get(whole.identities[row] ?? '') ?? []);
  return {
    identities,
    roles: whole.roles.map((role) => ({ ...role, identities: rows(role.identities) })),
    people: whole.people
      .map((person) => ({ ...person, identities: rows(person.identities) }))
      .filter((person) => person.identities.length > 0),
  };
}

function factsOf({ set, map }: OpenPolicy): Facts {
  return {
    instants: map.instants,
    identities: map.identities,
    people: (set?.people ?? []).map(({ name }) => name),
    namespaces: map.nodes.paths,
    scopes: map.scopes,
  };
}

function toCompared(first: OpenPolicy, now: OpenPolicy, { equal, gained, lost, cells }: DiffReport): PolicyDifference {
  const side = ({ policy, set, sources }: OpenPolicy): Parameters<typeof diffChecks>[0] => ({
    digest: policy.digest,
    checks: policy.checks,
    set,
    accepted: acceptedFindings(sources),
  });
  return {
    ...{ equal, gained, lost, cells },
    weaker: weakerChecks(diffChecks(side(first), side(now))),
  };
}
