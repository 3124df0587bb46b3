// The thread that judges by schemas: says that it is ready, then gives one verdict for each task.
import { parentPort } from 'node:worker_threads';
import { COMMAND_LIMITS, TEMPLATE_LIMITS } from '../limits/records.js';
import { makeLruCache } from '../lib/lru-cache.js';
import { judgePart, type RecordVerdict } from './judge-record.js';
import type { JudgeTask } from './judge-thread.js';
import { readTemplate, type TemplateResult } from './template-schema.js';

const known = makeLruCache<TemplateResult>(TEMPLATE_LIMITS.threadBytes, COMMAND_LIMITS.knownTemplates);

function judge({ schema, value }: JudgeTask): RecordVerdict {
  const template = known.get(schema) ?? readTemplate(parsed(schema));
  // The schema is also its name.
  known.put(schema, template, 2 * schema.length + (template.ok ? template.template.bytes : 0));
  return judgePart(template, value);
}

function parsed(schema: string): object {
  const value: unknown = JSON.parse(schema);
  if (typeof value !== 'object' || value === null) throw new TypeError('a schema that is not an object');
  return value;
}

parentPort?.on('message', (task: JudgeTask) => {
  parentPort?.postMessage(judge(task));
});
parentPort?.postMessage('ready');
