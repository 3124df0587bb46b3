// Answers of `decide`, one a line.
import type { LineAnswer } from '../answer-line.js';
import type { Format } from '../options.js';
import { escapeJson, escapeText } from './escape.js';

export function renderAnswer(answer: LineAnswer, format: Format): string {
  return format === 'json'
    ? `${escapeJson(JSON.stringify(answer))}\n`
    : `${escapeText(String(answer.id ?? '-'))} ${textOf(answer)}\n`;
}

function textOf(answer: LineAnswer): string {
  if ('error' in answer) return `error ${answer.error.code} ${escapeText(answer.error.message)}`;
  if (answer.decision === 'allow')
    return answer.grants.length === 0 ? 'allow' : `allow ${answer.grants.map(escapeText).join(',')}`;
  return `deny ${answer.step}${answer.cause === undefined ? '' : ` ${answer.cause}`}`;
}
