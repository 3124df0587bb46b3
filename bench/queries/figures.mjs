// Medians, ratios and the goals that they are held against, as a table for people and as JSON for machines.
import { loadavg } from 'node:os';

export const say = (text) => process.stderr.write(`${text}\n`);
export const print = (text) => process.stdout.write(`${text}\n`);

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

export function loadNow() {
  return loadavg().map((value) => Math.round(value * 10) / 10);
}

/** `goal` is a text such as `<= 3`, null if there is none. */
export function figure(name, value, { goal = null, n = 1, note } = {}) {
  const reached = goal === null ? null : holds(value, goal);
  return { figure: name, goal, value, reached, n, ...(note === undefined ? {} : { note }) };
}

function holds(value, goal) {
  const [, sign, bound] = /^(<=|>=) ([\d.]+)$/.exec(goal);
  return sign === '<=' ? value <= Number(bound) : value >= Number(bound);
}

export function short(number) {
  if (number === null || number === undefined) return '-';
  if (number >= 100) return number.toFixed(0);
  if (number >= 10) return number.toFixed(1);
  return number.toFixed(2);
}

export function table(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => String(row[column]).length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) =>
          column === 0 ? String(cell).padEnd(widths[column]) : String(cell).padStart(widths[column]),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
