// What every bench has in common: its options, its rows and how they are printed and written. A row is one figure, what it is compared with
// in the same run (its limit), their ratio, and whether the goal of it is met (goals.mjs).
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { GOALS } from './goals.mjs';

export const say = (text) => process.stderr.write(`${text}\n`);
export const print = (text) => process.stdout.write(`${text}\n`);

/**
 * The options of a bench, each given as `[default, what it does]`; null if help was printed. A default that is a number, false or a text
 * gives the kind of the option. Every bench has `--seed` and `--out`.
 */
export function readOptions(name, own) {
  const all = { ...own, seed: [1, 'of everything that is generated'], out: [`.run/bench-${name}.json`, 'where the rows go as JSON'], help: [false, 'this text'] }; // prettier-ignore
  const kinds = Object.fromEntries(Object.entries(all).map(([key, [usual]]) => [key, { type: usual === false ? 'boolean' : 'string' }])); // prettier-ignore
  const { values } = parseArgs({ options: kinds });
  const wrong = Object.entries(values).filter(([key, text]) => typeof all[key][0] === 'number' && !(Number(text) >= 0));
  if (values.help || wrong.length > 0) {
    print(`Usage: make bench-${name} ARGS="[options]"\n`);
    for (const [key, [usual, what]] of Object.entries(all))
      print(`  --${key.padEnd(12)} ${what}${usual === false || usual === '' ? '' : ` (${usual})`}`);
    if (wrong.length > 0) process.exitCode = 2;
    return null;
  }
  const typed = ([key, [usual]]) => [key, typeof usual === 'number' ? Number(values[key] ?? usual) : (values[key] ?? usual)]; // prettier-ignore
  return { name, ...Object.fromEntries(Object.entries(all).map(typed)) };
}

/** `limit` is what was measured beside the figure. A goal is of their ratio, or of a figure without a limit. */
export function row(what, figure, { goal: id = null, limit = null, unit = '', n = 1, note = '' } = {}) {
  const ratio = limit === null ? null : figure / limit;
  const goal = id === null ? null : GOALS[id].goal;
  return { what, goal: id, wanted: goal, figure, unit, limit, ratio, met: goal === null ? null : holds(ratio ?? figure, goal), n, note }; // prettier-ignore
}

function holds(value, goal) {
  const [, sign, bound] = /^(<=|>=) ([\d.]+)$/.exec(goal);
  return sign === '<=' ? value <= Number(bound) : value >= Number(bound);
}

/** The cells of a row. */
export const HEAD = ['', 'figure', 'limit', 'ratio', 'goal', 'met', 'n', ''];
export function cellsOf({ what, figure, unit, limit, ratio, wanted, met, n, note }) {
  const withUnit = (number) => (number === null ? '' : `${short(number)}${unit === '' ? '' : ` ${unit}`}`);
  return [what, withUnit(figure), withUnit(limit), ratio === null ? '' : short(ratio), wanted ?? '', met === null ? '' : met ? 'yes' : 'NO', n, note]; // prettier-ignore
}

/** Prints the rows and writes them, with what they were measured on and `more`, to the file of the settings. */
export function report(settings, rows, more = {}) {
  const facts = factsOf(settings);
  writeOut(settings.out, { ...facts, ...more, rows });
  print(table([HEAD, ...rows.map(cellsOf)]));
  const { commit, machine, node, load } = facts;
  print(
    `${commit}, ${machine}, Node ${node}, load ${load.join(' ')}, seed ${settings.seed}; written to ${settings.out}`,
  );
}

export function writeOut(path, value) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${JSON.stringify(value, null, 1)}\n`);
}

export function factsOf(settings) {
  const machine = `${availableParallelism()} x ${cpus()[0]?.model ?? 'unknown'}, ${Math.round(totalmem() / 2 ** 30)} GiB`;
  return { at: new Date().toISOString(), commit: commit(), machine, node: process.versions.node, load: loadNow(), settings }; // prettier-ignore
}

function commit() {
  const git = (...args) => execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  try {
    return git('rev-parse', '--short=12', 'HEAD') + (git('status', '--porcelain') === '' ? '' : ' with changes');
  } catch {
    return 'no commit';
  }
}

export function loadNow() {
  return loadavg().map((value) => Math.round(value * 10) / 10);
}

export function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

export const geometricMean = (numbers) =>
  Math.exp(numbers.reduce((sum, number) => sum + Math.log(number), 0) / numbers.length);

/**
 * Calls the contenders in turn, round after round, until each has had its time; the milliseconds of each call. Who takes longer
 * than that in the warming round has been measured by it.
 */
export async function interleave(contenders, { milliseconds, atLeast, atMost }) {
  const timed = contenders.map(() => ({ times: [], spent: 0 }));
  const once = async (index) => {
    const begun = performance.now();
    await contenders[index].call();
    return performance.now() - begun;
  };
  for (const [index, one] of timed.entries()) {
    const took = await once(index);
    if (took > milliseconds) Object.assign(one, { times: [took], spent: Infinity });
  }
  for (let round = 0; round < atMost; round += 1) {
    for (const [index, one] of timed.entries()) {
      if (one.spent > (round < atLeast ? 4 * milliseconds : milliseconds)) continue;
      const took = await once(index);
      one.times.push(took);
      one.spent += took;
    }
  }
  return timed.map(({ times }) => times);
}

export function short(number) {
  if (number === null || number === undefined) return '-';
  if (number >= 1e4) return Math.round(number).toLocaleString('en');
  if (number >= 100 || Number.isInteger(number)) return number.toFixed(0);
  return number.toFixed(number >= 10 ? 1 : 2);
}

export function table(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => String(row[column]).length)));
  const isText = (column) => column === 0 || column === rows[0].length - 1;
  const pad = (cell, column) => (isText(column) ? String(cell).padEnd(widths[column]) : String(cell).padStart(widths[column])); // prettier-ignore
  return rows.map((row) => row.map(pad).join('  ').trimEnd()).join('\n');
}
