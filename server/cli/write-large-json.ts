// One JSON object whose lists may be larger than the largest text that JavaScript can hold: elements of its lists are
// written one after the other.
import { type CliIo, isClosed, write } from './io.js';
import { escapeJson } from './render/escape.js';

/** Characters that are gathered before they are written. */
const CHUNK = 64 * 1024;

/** As `writeJson`, with the fields in this order; undefined ones are left out. */
export async function writeLargeJson(
  io: CliIo,
  fields: readonly (readonly [name: string, value: unknown])[],
): Promise<void> {
  let pending = '';
  const add = async (text: string): Promise<void> => {
    pending += text;
    if (pending.length < CHUNK) return;
    await write(io.stdout, pending);
    pending = '';
  };
  let separator = '{';
  for (const [name, value] of fields) {
    if (value === undefined) continue;
    await add(`${separator}${JSON.stringify(name)}:`);
    separator = ',';
    if (!Array.isArray(value)) {
      await add(jsonOf(value));
      continue;
    }
    await add('[');
    for (const [i, element] of value.entries()) {
      if (isClosed(io.stdout)) return;
      await add(`${i === 0 ? '' : ','}${jsonOf(element)}`);
    }
    await add(']');
  }
  await write(io.stdout, `${pending}}\n`);
}

function jsonOf(value: unknown): string {
  return escapeJson(JSON.stringify(value));
}
