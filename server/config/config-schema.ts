// The JSON Schema of `bailiwick.yaml`, made from the table of settings: for editors and for reading the file.
import type { Setting, Table } from './setting.js';
import { SETTINGS } from './settings.js';

export const CONFIG_SCHEMA: object = objectOf(SETTINGS);

function objectOf(table: Table): object {
  const properties = Object.entries(table).flatMap(([name, member]): [string, object][] => {
    if (member.kind === 'setting') return propertiesOf(name, member);
    const { doc: description, members } = member;
    if (member.kind === 'list') return [[name, { description, type: 'array', items: objectOf(members) }]];
    return [[name, { description, ...objectOf(members) }]];
  });
  const required = Object.entries(table).flatMap(([name, member]) =>
    member.kind === 'setting' && member.required === true ? [name] : [],
  );
  return { type: 'object', additionalProperties: false, required, properties: Object.fromEntries(properties) };
}

function propertiesOf(name: string, { type, doc, default: usual, secretFile }: Setting<unknown>): [string, object][] {
  const own = { description: doc, ...type.schema, ...(usual === undefined ? {} : { default: usual }) };
  if (secretFile === undefined) return [[name, own]];
  return [
    [name, own],
    [`${name}File`, { description: `a file that holds \`${name}\``, type: 'string' }],
  ];
}
