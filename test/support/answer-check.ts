// Every answer that a suite gets over HTTP is held to what its route declares, and every refusal to the one shape of problems.
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { PROBLEM_SCHEMA } from '../../server/api/answer-schemas.js';
import { pathTemplate } from '../../server/http/path-template.js';
import type { Route } from '../../server/http/route.js';
import { makeRoutes } from '../../server/http/routes.js';
import type { Database } from '../../server/db/database.js';

export interface Answered {
  readonly method: string;
  readonly target: string;
  readonly status: number;
  readonly type: string | undefined;
  readonly text: string;
}

const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
const problem = ajv.compile(PROBLEM_SCHEMA);
const validators = new Map<object, ValidateFunction>();
/** For what they declare alone: none of them is run. */
const routes: readonly Route[] = makeRoutes({ db: {} as Database, cursorKey: new Uint8Array(32) });

/** Throws for an answer that is not what its route, or a problem, is described as. */
export function checkAnswer({ method, target, status, type, text }: Answered): void {
  // An answer to HEAD has no body.
  if (method === 'HEAD') return;
  const where = `${method} ${target.slice(0, 100)} answered ${String(status)}`;
  if (status >= 400) {
    if (type !== 'application/problem+json') throw new Error(`${where} of type ${String(type)}`);
    hold(problem, text, where);
    return;
  }
  const path = target.split('?', 1)[0] ?? '';
  const route = routes.find((one) => one.method === method && isOf(one.path, path));
  const output = route?.output[status];
  if (output === undefined) throw new Error(`${where}, which no route declares`);
  if (output.type !== type) throw new Error(`${where} as ${String(type)} instead of ${output.type}`);
  if (output.type !== 'application/json') return;
  const validate = validators.get(output.schema) ?? ajv.compile(output.schema);
  validators.set(output.schema, validate);
  hold(validate, text, where);
}

function isOf(template: string, path: string): boolean {
  const { pattern } = pathTemplate(template);
  return typeof pattern === 'string' ? pattern === path : pattern.test(path);
}

function hold(validate: ValidateFunction, text: string, where: string): void {
  if (validate(JSON.parse(text))) return;
  throw new Error(`${where} with what its schema does not allow: ${JSON.stringify(validate.errors)}`);
}
