// The judging of all values of one request by templates. What is soon done is done at once. What may take longer is put
// off: the transaction is given up, a thread judges, and the request is done again with the verdicts. Equal values are
// judged once.
import { createHash } from 'node:crypto';
import { COMMAND_LIMITS, TEMPLATE_LIMITS } from '../limits/records.js';
import { makeLruCache } from '../lib/lru-cache.js';
import { type JudgedValue, judgeSoon, type RecordVerdict, RIGHT } from './judge-record.js';
import { type JudgeTask, makeJudgeThread, type TimeLeft } from './judge-thread.js';
import { isSmall, readTemplate, type TemplateResult } from './template-schema.js';

export interface Schema {
  /** JSON text. */
  readonly text: string;
  /** Null if only the thread compiles it. */
  readonly small: TemplateResult | null;
}

export interface Judgements {
  /** The schema of the template with this name, null if it has none. It is read if it is not remembered. */
  readonly schemaOf: (name: string, read: () => Promise<object | null>) => Promise<Schema | null>;
  /** Judges the value, or only the schema if there is none. A postponed value counts as valid until it is judged. */
  readonly judge: (schema: Schema, value: JudgedValue | null) => RecordVerdict;
  /** Throws `PutOff` if anything was put off. */
  readonly assertSettled: () => void;
  /** Judges what was put off. */
  readonly settle: () => Promise<void>;
  /** Reads a schema that is not stored. */
  readonly schemaFrom: (schema: object) => Schema;
}

/** A verdict that the request depends on is not known yet. */
export class PutOff extends Error {
  override readonly name = 'PutOff';
}

interface Left extends TimeLeft {
  /** Milliseconds for what is judged between other requests. */
  soon: number;
}

/** Makes what one request of this asker gets. */
export type MakeJudgements = (asker: string) => Judgements;

export function makeJudging(): MakeJudgements {
  const known = makeLruCache<Schema | null>(COMMAND_LIMITS.knownTemplateBytes, COMMAND_LIMITS.knownTemplates);
  const thread = makeJudgeThread();
  return (asker) => {
    const verdicts = new Map<string, RecordVerdict>();
    const putOff = new Map<string, JudgeTask>();
    const left: Left = { soon: TEMPLATE_LIMITS.small.requestTime, thread: TEMPLATE_LIMITS.threadTime };
    const soon = <T>(work: () => T): T | null => {
      if (left.soon <= 0) return null;
      const began = performance.now();
      try {
        return work();
      } finally {
        left.soon -= performance.now() - began;
      }
    };
    const schemaFrom = (schema: object): Schema => ({
      text: JSON.stringify(schema),
      small: soon(() => (isSmall(schema) ? readTemplate(schema) : null)),
    });
    return {
      schemaFrom,
      schemaOf: async (name, read) => {
        const found = known.get(name);
        if (found !== undefined) return found;
        const json = await read();
        const isTimeLeft = left.soon > 0;
        const schema = json === null ? null : schemaFrom(json);
        if (isTimeLeft) known.put(name, schema, bytesOf(schema));
        return schema;
      },
      judge: (schema, value) => {
        const key = keyOf(schema, value);
        const verdict = verdicts.get(key) ?? soon(() => judgeSoon(schema.small, value, left.soon));
        if (verdict === null) putOff.set(key, { schema: schema.text, value });
        else verdicts.set(key, verdict);
        return verdict ?? RIGHT;
      },
      assertSettled: () => {
        if (putOff.size > 0) throw new PutOff();
      },
      settle: async () => {
        if (putOff.size === 0) return;
        const judged = await thread.judge(asker, [...putOff.values()], left);
        for (const [index, key] of [...putOff.keys()].entries()) {
          const verdict = judged[index];
          if (verdict !== undefined) verdicts.set(key, verdict);
        }
        putOff.clear();
      },
    };
  };
}

function keyOf({ text }: Schema, value: JudgedValue | null): string {
  const hash = createHash('sha256').update(text);
  return (value === null ? hash : hash.update('\0').update(JSON.stringify(value.value))).digest('base64');
}

/** A schema that is not small is remembered as text only. */
function bytesOf(schema: Schema | null): number {
  if (schema === null) return 0;
  return 2 * schema.text.length + (schema.small?.ok === true ? schema.small.template.bytes : 0);
}
