// A strict reader of the text format of Prometheus (0.0.4). Any deviation from the format is an error, so a test that
// uses it shows that a scraper can read the text.

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Series {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly samples: readonly Sample[];
}

const HELP = /^# HELP ([a-z][a-z0-9_]*) (\S.*)$/;
const TYPE = /^# TYPE ([a-z][a-z0-9_]*) (counter|gauge|histogram|summary)$/;
const SAMPLE = /^([a-z][a-z0-9_]*)(?:\{(.*)\})? (-?[0-9.e+-]+|[+-]Inf|NaN)$/;
const LABEL = /^([a-z][a-z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)/;

/** Throws where it is no such text. */
export function readExposition(text: string): readonly Series[] {
  if (!text.endsWith('\n')) throw new Error('the last line has no end');
  const series: { name: string; type: string; help: string; samples: Sample[] }[] = [];
  let told: RegExpExecArray | null = null;
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const help = HELP.exec(line);
    const type = TYPE.exec(line);
    const last = series.at(-1);
    if (help !== null) told = help;
    else if (type !== null) {
      const [, name = '', kind = ''] = type;
      if (told?.[1] !== name || series.some((one) => one.name === name)) throw new Error(`out of order: ${line}`);
      series.push({ name, type: kind, help: told[2] ?? '', samples: [] });
      told = null;
    } else if (last === undefined || told !== null) throw new Error(`a sample of nothing: ${line}`);
    else last.samples.push(readSample(line, last));
  }
  return series;
}

function readSample(line: string, { name: of, type }: Pick<Series, 'name' | 'type'>): Sample {
  const [, name = '', labels = '', value = ''] = SAMPLE.exec(line) ?? [];
  const suffixes =
    type === 'histogram' ? ['_bucket', '_sum', '_count'] : type === 'summary' ? ['', '_sum', '_count'] : [''];
  if (!suffixes.some((suffix) => name === `${of}${suffix}`)) throw new Error(`no sample of ${of}: ${line}`);
  return { name, labels: readLabels(labels), value: value === '+Inf' ? Infinity : Number(value) };
}

function readLabels(text: string): Readonly<Record<string, string>> {
  const labels = new Map<string, string>();
  for (let at = 0; at < text.length;) {
    const [whole = '', name = '', value = ''] = LABEL.exec(text.slice(at)) ?? [];
    if (whole === '' || labels.has(name)) throw new Error(`no labels: ${text}`);
    labels.set(name, value);
    at += whole.length;
  }
  return Object.fromEntries(labels);
}

/** The value of the one sample with exactly these labels; 0 if there is none. */
export function valueOf(
  series: readonly Series[],
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number {
  const wanted = JSON.stringify(Object.entries(labels).sort());
  const found = series
    .flatMap(({ samples }) => samples)
    .filter((one) => one.name === name && JSON.stringify(Object.entries(one.labels).sort()) === wanted);
  return found[0]?.value ?? 0;
}
