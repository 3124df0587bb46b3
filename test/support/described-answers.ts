// Checks every request and answer of a suite against the API's description, read as a client would read it: paths,
// parameters, bodies, answers, headers. Every answer must be fully described. If it is not a refusal, the request must
// have been described, too.
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

export interface Exchanged {
  readonly method: string;
  readonly target: string;
  /** Names in lower case. */
  readonly sent: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string | null;
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly text: string;
}

export type CheckExchange = (exchanged: Exchanged) => void;

interface Reference {
  readonly $ref?: string;
}
interface Parameter extends Reference {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly schema: object;
}
type Content = Readonly<Record<string, { readonly schema: object }>>;
interface Response extends Reference {
  readonly headers: Readonly<Record<string, Reference & { readonly required: boolean; readonly schema: object }>>;
  readonly content: Content;
}
interface Operation {
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, Response>>;
}
export interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** Of every answer on the wire, whatever it is; what a browser asks about origins is no part of an API's description. */
const OF_HTTP =
  /^(?:content-(?:type|length)|content-security-policy|cache-control|x-content-type-options|referrer-policy|cross-origin-(?:opener|resource)-policy|strict-transport-security|date|connection|keep-alive|vary|access-control-.*)$/;
/** Where no operation is asked. */
const NO_OPERATION: ReadonlySet<unknown> = new Set(['route.not_found', 'request.method', 'request.uri_too_long']);
/** Before anything is read of what is asked. */
const ANYWHERE = ['request.malformed', 'request.host', 'request.timeout', 'request.headers_too_large', 'limit.rate'];

/** Throws for an exchange that is not as the description has it. */
export function checkBy(description: Description): CheckExchange {
  const validatorOf = validatorsOf(JSON.stringify(description.components['schemas'] ?? {}));
  const compiled = new Map<object, ValidateFunction>();
  const hold = (schema: object, value: unknown, where: string): void => {
    const validate = compiled.get(schema) ?? validatorOf(JSON.stringify(schema));
    compiled.set(schema, validate);
    if (!validate(value)) throw new Error(`${where} is not as described: ${JSON.stringify(validate.errors)}`);
  };
  const resolve = <One extends Reference>(one: One): One => {
    const [, , kind = '', name = ''] = one.$ref?.split('/') ?? [];
    return one.$ref === undefined ? one : (description.components[kind]?.[name] as One);
  };
  const paths = Object.entries(description.paths).map(([literal, operations]) => ({
    literal,
    pattern: patternOf(literal),
    operations,
  }));

  return ({ method, target, sent, body, status, headers, text }) => {
    const where = `${method} ${target.slice(0, 100)}, answered ${String(status)},`;
    // An answer to HEAD has no body.
    if (method === 'HEAD') return;
    const path = target.split('?', 1)[0] ?? '';
    // A path that is written out comes before one with an open part.
    const exact = paths.filter(({ literal }) => literal === path);
    const operation = (exact.length > 0 ? exact : paths.filter(({ pattern }) => pattern.test(path)))
      .map(({ operations }) => operations[method.toLowerCase()])
      .find((found) => found !== undefined);
    if (operation === undefined) {
      const { code } = JSON.parse(text) as { readonly code?: unknown };
      if (!NO_OPERATION.has(code) && !ANYWHERE.includes(String(code))) throw new Error(`${where} is no operation`);
      return;
    }
    const described = operation.responses[status];
    if (described === undefined) throw new Error(`${where} is not among its answers`);
    const answer = resolve(described);
    const known = new Map(Object.entries(answer.headers).map(([name, one]) => [name.toLowerCase(), resolve(one)]));
    for (const [name, value] of Object.entries(headers)) {
      const header = known.get(name);
      if (header !== undefined) hold(header.schema, value, `${where} header ${name}`);
      else if (!OF_HTTP.test(name)) throw new Error(`${where} has a header that is not described: ${name}`);
    }
    for (const [name, { required }] of known) {
      if (required && headers[name] === undefined) throw new Error(`${where} has no header ${name}`);
    }
    if (Object.keys(answer.content).length === 0) {
      if (text !== '' || headers['content-type'] !== undefined) throw new Error(`${where} has a body`);
      return;
    }
    const type = mediaType(headers['content-type']);
    const content = answer.content[type];
    if (content === undefined) throw new Error(`${where} is of a type that is not described: ${type}`);
    hold(content.schema, type.endsWith('json') ? JSON.parse(text) : text, `${where} its body`);
    if (status >= 300) return;
    checkRequest(operation, { path, target, sent, body }, (schema, value, what) => {
      hold(schema, value, `${where} its request's ${what}`);
    });
  };

  function checkRequest(
    { parameters, requestBody }: Operation,
    { target, sent, body }: Pick<Exchanged, 'target' | 'sent' | 'body'> & { readonly path: string },
    holdPart: (schema: object, value: unknown, what: string) => void,
  ): void {
    const query = new URLSearchParams(target.split('?')[1] ?? '');
    const all = parameters.map(resolve);
    const valueOf = ({ in: place, name }: Parameter): unknown =>
      place === 'query' ? (query.get(name) ?? undefined) : sent[name.toLowerCase()];
    for (const parameter of all.filter((one) => one.in !== 'path')) {
      const value = valueOf(parameter);
      if (value !== undefined) holdPart(parameter.schema, value, parameter.name);
      else if (parameter.required) throw new Error(`${target} was answered without ${parameter.name}`);
    }
    for (const name of query.keys()) {
      if (!all.some((one) => one.in === 'query' && one.name === name)) throw new Error(`${target} was answered`);
    }
    if (body === null || requestBody === undefined) return;
    const content = requestBody.content[mediaType(sent['content-type'])];
    if (content === undefined) throw new Error(`${target} was answered to a body of another type`);
    holdPart(content.schema, JSON.parse(body), 'body');
  }
}

type ValidatorOf = (schema: string) => ValidateFunction;

declare global {
  /** By the schemas of a description as text: what this process has compiled, for all of its test files. */
  var testValidators: Map<string, ValidatorOf> | undefined;
}

/** Takes schemas as text, because each test file has objects of its own. */
function validatorsOf(schemas: string): ValidatorOf {
  const kept = (globalThis.testValidators ??= new Map<string, ValidatorOf>());
  const known = kept.get(schemas);
  if (known !== undefined) return known;
  const ajv = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false, validateSchema: false });
  for (const word of ['example']) ajv.addKeyword(word);
  ajv.addSchema({ $id: 'api', $defs: atHome(schemas) });
  const compiled = new Map<string, ValidateFunction>();
  const validatorOf: ValidatorOf = (schema) => {
    const validate = compiled.get(schema) ?? ajv.compile(atHome(schema));
    compiled.set(schema, validate);
    return validate;
  };
  kept.set(schemas, validatorOf);
  return validatorOf;
}

/** With the schemas of the description in one place that can be referred to from every other. */
function atHome(schema: string): object {
  return JSON.parse(schema.replaceAll('"#/components/schemas/', '"api#/$defs/')) as object;
}

function mediaType(value: string | readonly string[] | undefined): string {
  return (String(value).split(';', 1)[0] ?? '').trim().toLowerCase();
}

function patternOf(path: string): RegExp {
  const literal = path.replaceAll(/[^\w/{}-]/g, String.raw`\$&`);
  return new RegExp(`^${literal.replaceAll('{path}', '/.*').replaceAll(/\{\w+\}/g, '[^/]+')}$`);
}
