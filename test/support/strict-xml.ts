// A strict reader of the XML that we emit: elements, attributes and text, nothing else, with everything closed and
// escaped.

export interface XmlElement {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly XmlElement[];
  readonly text: string;
}

const TOKEN =
  /<\?xml version="1\.0" encoding="UTF-8"\?>|<(\/?)([A-Za-z]+)((?: [A-Za-z]+="[^"<&]*(?:&(?:amp|lt|gt|quot);[^"<&]*)*")*)(\/?)>|[^<]+/y;
// eslint-disable-next-line no-control-regex -- what XML 1.0 does not have
const NOT_XML = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/;

/** The root element; throws at the first thing that is not well-formed. */
export function readXml(xml: string): XmlElement {
  if (NOT_XML.test(xml) || !xml.isWellFormed()) throw new Error('a character that XML does not have');
  interface Open {
    readonly name: string;
    readonly attributes: Readonly<Record<string, string>>;
    readonly children: XmlElement[];
    text: string;
  }
  const file: Open = { name: '', attributes: {}, children: [], text: '' };
  const open: Open[] = [file];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < xml.length) {
    const at = TOKEN.lastIndex;
    const match = TOKEN.exec(xml);
    const top = open.at(-1);
    if (match === null || top === undefined)
      throw new Error(`not well-formed at ${String(at)}: ${xml.slice(at, at + 40)}`);
    const [whole, slash, name, attributes = '', end] = match;
    if (name === undefined) {
      if (!whole.startsWith('<?')) top.text += unescapeXml(whole);
      continue;
    }
    if (slash === '/') {
      if (top.name !== name) throw new Error(`</${name}> closes <${top.name}>`);
      open.pop();
      continue;
    }
    const element: Open = { name, attributes: attributesOf(attributes), children: [], text: '' };
    top.children.push(element);
    if (end !== '/') open.push(element);
  }
  const [root, second] = file.children;
  if (open.length !== 1 || root === undefined || second !== undefined) throw new Error('not one closed root element');
  return root;
}

function attributesOf(text: string): Readonly<Record<string, string>> {
  const pairs = [...text.matchAll(/ ([A-Za-z]+)="([^"]*)"/g)].map(([, name = '', value = '']) => [
    name,
    unescapeXml(value),
  ]);
  if (new Set(pairs.map(([name]) => name)).size !== pairs.length) throw new Error(`an attribute twice: ${text}`);
  return Object.fromEntries(pairs) as Record<string, string>;
}

const ENTITIES: ReadonlyMap<string, string> = new Map([
  ['&amp;', '&'],
  ['&lt;', '<'],
  ['&gt;', '>'],
  ['&quot;', '"'],
]);

function unescapeXml(text: string): string {
  return text.replaceAll(/&[^;]*;?/g, (entity) => {
    const character = ENTITIES.get(entity);
    if (character === undefined) throw new Error(`the entity ${entity}`);
    return character;
  });
}
