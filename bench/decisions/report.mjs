// Medians and ratios of all passes, as one table for each number of grants.

const CASBIN = 'casbin, role manager';

export function summarize(runs, contestants) {
  return Object.keys(contestants).map((name) => {
    const own = runs.filter((run) => run.name === name);
    const failed = own.find(({ error }) => error !== undefined);
    const wrong = own.reduce((sum, run) => sum + (run.wrong ?? 0), 0);
    const figures = ['warm', 'first', 'load', 'heap', 'outside', 'heapAfter', 'decided'];
    const medians = Object.fromEntries(figures.map((figure) => [figure, median(own.map((run) => run[figure]))]));
    return { name, peer: !contestants[name].own, wrong, error: failed?.error ?? null, ...medians };
  });
}

function median(values) {
  const sorted = values.filter((value) => value !== undefined).sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? null;
}

/** A contestant that failed or disagrees with the reference gets no figure. */
const counts = ({ wrong, error }) => wrong === 0 && error === null;

export function print(grants, rows) {
  const peers = rows.filter((row) => row.peer && counts(row));
  const best = (figure) => Math.max(0, ...peers.map((row) => row[figure]));
  const casbin = peers.find(({ name }) => name === CASBIN);
  const over = (value, base) => (base === undefined || base === 0 ? '-' : (value / base).toFixed(1));
  const lines = rows.map((row) =>
    counts(row)
      ? [
          row.name,
          rate(row.warm),
          over(row.warm, casbin?.warm),
          over(row.warm, best('warm')),
          rate(row.first),
          over(row.first, best('first')),
          `${(row.load / 1000).toFixed(2)} s`,
          megabytes(row.heap),
          megabytes(row.outside),
          megabytes(row.heapAfter),
        ]
      : [row.name, row.error ?? `${row.wrong} wrong`, ...new Array(8).fill('-')],
  );
  const head = [
    `${grants.toLocaleString('en')} grants`,
    'warm /s',
    'x casbin',
    'x best peer',
    'first sight /s',
    'x best peer',
    'load',
    'heap MB',
    'outside MB',
    'heap after MB',
  ];
  const table = [head, head.map((_, column) => (column === 0 ? '---' : '---:')), ...lines];
  process.stdout.write(`\n${table.map((cells) => `| ${cells.join(' | ')} |`).join('\n')}\n`);
}

function rate(value) {
  if (value >= 1e6) return `${(value / 1e6).toFixed(2)} M`;
  return value >= 1e4 ? `${(value / 1e3).toFixed(0)} k` : value.toFixed(0);
}

function megabytes(bytes) {
  return (bytes / 1e6).toFixed(1);
}
