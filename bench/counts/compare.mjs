// Counts beside those in bench/counts.json. Less is better of all of them, and the last word of a name is its unit: how many per cent a
// count of this unit may differ stands in the file. What is better must be recorded, too, or it could be lost again unseen.

/**
 * `{changed, lines}`: what differs by more than it may, as text. Counts of a PostgreSQL that is not here, or of a release that the file has
 * nothing of, are not compared, and `lines` says so.
 */
export function compare(recorded, counted) {
  const { percent, counts } = recorded;
  const has = (label) => Object.keys(counts).some((name) => labelOf(name) === label);
  const parts = { worse: [], better: [], unknown: [], gone: [], left: new Set() };
  for (const [name, is] of Object.entries(counted)) {
    const was = counts[name];
    if (was === undefined) {
      if (isPostgres(name) && !has(labelOf(name)))
        parts.left.add(`${labelOf(name)}: not compared, nothing is recorded of it`); // prettier-ignore
      else parts.unknown.push(`${name}: is ${say(is)}`);
      continue;
    }
    const allowed = percent[unitOf(name)] ?? 0;
    if (Math.abs(is - was) * 100 <= allowed * was) continue;
    const by = was === 0 ? '' : `${Math.abs((is / was - 1) * 100).toFixed(1)} % `;
    const told = `${name}: was ${say(was)}, is ${say(is)} (${by}${is > was ? 'more' : 'less'}, ${allowed} % may differ)`;
    parts[is > was ? 'worse' : 'better'].push(told);
  }
  const labels = new Set(Object.keys(counted).map(labelOf));
  for (const name of Object.keys(counts)) {
    if (Object.hasOwn(counted, name)) continue;
    if (isPostgres(name) && !labels.has(labelOf(name))) parts.left.add(`${labelOf(name)}: not counted, it is not here`);
    else parts.gone.push(`${name}: was ${say(counts[name])}`);
  }
  const sections = [
    ['Worse', parts.worse],
    ['Better, which is not recorded', parts.better],
    ['Counted, but not recorded', parts.unknown],
    ['Recorded, but no longer counted', parts.gone],
  ].filter(([, lines]) => lines.length > 0);
  const lines = sections.flatMap(([title, some]) => [`${title}:`, ...some.map((line) => `  ${line}`)]);
  return { changed: sections.length > 0, lines: [...lines, ...parts.left] };
}

/** The file as it should be: what differs by no more than it may stays, so that small steps add up to a difference that is seen. */
export function record(recorded, counted) {
  const { changed } = compare(recorded, counted);
  if (!changed) return recorded;
  const labels = new Set(Object.keys(counted).map(labelOf));
  const absent = Object.entries(recorded.counts).filter(([name]) => isPostgres(name) && !labels.has(labelOf(name)));
  const counts = Object.entries(counted).map(([name, is]) => {
    const was = recorded.counts[name];
    const isSame = was !== undefined && !compare({ ...recorded, counts: { [name]: was } }, { [name]: is }).changed;
    return [name, isSame ? was : is];
  });
  const units = [...new Set(Object.keys(counted).map(unitOf))].sort();
  return {
    percent: Object.fromEntries(units.map((unit) => [unit, recorded.percent[unit] ?? 0])),
    counts: Object.fromEntries([...counts, ...absent]),
  };
}

function unitOf(name) {
  return name.slice(name.lastIndexOf(', ') + 2);
}

function labelOf(name) {
  return name.slice(0, Math.max(0, name.indexOf(': ')));
}

function isPostgres(name) {
  return name.startsWith('PostgreSQL ');
}

function say(number) {
  return number.toLocaleString('en');
}
