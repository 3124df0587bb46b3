// Schemas as shown on the page: a line for each member, with links to other named shapes.
import type { JsonSchema } from '../../api/schema.js';
import { isObject } from '../../json/strict-json.js';
import { escapeHtml, toHtml } from '../html.js';

/** One named shape. */
export function schemaArticle(name: string, schema: JsonSchema): string {
  const { description, properties, required } = schema;
  const about = typeof description === 'string' ? `<p>${toHtml(description)}</p>` : '';
  const needed: readonly unknown[] = Array.isArray(required) ? required : [];
  const members = isObject(properties)
    ? Object.entries(properties).map(([key, one]) => memberLine(`${key}${needed.includes(key) ? '' : '?'}`, one))
    : [];
  const others = isObject(schema['additionalProperties'])
    ? [memberLine('any other', schema['additionalProperties'])]
    : [];
  const lines = [...members, ...others];
  return `<article id="shape-${name}">
<h3><a href="#shape-${name}">${name}</a></h3>
${about}
${lines.length === 0 ? `<p>${typeText({ ...schema, title: undefined })}</p>` : `<dl>${lines.join('\n')}</dl>`}
</article>`;
}

function memberLine(name: string, schema: unknown): string {
  const about =
    isObject(schema) && typeof schema['description'] === 'string' ? ` ${toHtml(schema['description'])}` : '';
  return `<dt><code>${escapeHtml(name)}</code></dt><dd>${typeText(schema)}${about}</dd>`;
}

/** What a value may be, in a few words. */
export function typeText(schema: unknown): string {
  if (!isObject(schema)) return 'anything';
  const { $ref, anyOf, type, items, properties, additionalProperties } = schema;
  if (typeof $ref === 'string') {
    const name = $ref.slice($ref.lastIndexOf('/') + 1);
    return `<a href="#shape-${name}">${name}</a>`;
  }
  if (Array.isArray(schema['enum'])) return schema['enum'].map((one) => code(String(one))).join(' or ');
  if (schema['const'] !== undefined) return code(JSON.stringify(schema['const']));
  if (Array.isArray(anyOf)) return anyOf.map(typeText).join(' or ');
  const types: readonly unknown[] = Array.isArray(type) ? type : [type];
  return types
    .map((one) => {
      if (one === 'array') return `list of ${typeText(items)}`;
      if (one !== 'object') return typeof one === 'string' ? one + limitsOf(schema) : 'anything';
      if (isObject(properties)) {
        return `{ ${Object.entries(properties)
          .map(([key, member]) => `${code(key)}: ${typeText(member)}`)
          .join(', ')} }`;
      }
      return isObject(additionalProperties) ? `object of ${typeText(additionalProperties)}` : 'object';
    })
    .join(' or ');
}

function limitsOf({ minimum, maximum, pattern }: JsonSchema): string {
  if (typeof minimum === 'number' && typeof maximum === 'number') return ` ${String(minimum)} to ${String(maximum)}`;
  if (typeof minimum === 'number') return ` from ${String(minimum)}`;
  return typeof pattern === 'string' ? ` like ${code(pattern)}` : '';
}

function code(text: string): string {
  return `<code>${escapeHtml(text)}</code>`;
}
