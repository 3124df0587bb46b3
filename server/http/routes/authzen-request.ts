// Reads the bodies of AuthZEN (docs/authzen.md "The requests"). Unknown members and all properties are ignored; null for
// an optional member means that it is absent. A required member that is missing or of the wrong type is a fault.
import type { Fields } from '../../asking/decide-question.js';
import { type ApiProblem, inputProblem } from '../../problem.js';
import { isObject } from '../../json/strict-json.js';

export interface Entity {
  readonly type: string;
  readonly id: string;
}

export interface EvaluationRequest {
  readonly subject: Entity;
  readonly action: string;
  readonly resource: Entity;
  /** `context.namespace`: the context; null for the resource's own namespace. Anything but a string is no context. */
  readonly from: unknown;
}

/** The request, with a fault for the part that is wrong. */
export class RequestFault extends Error {
  override readonly name = 'RequestFault';
}

export function faultProblem({ message }: RequestFault): ApiProblem {
  return inputProblem('request.schema', '', message);
}

/** An object; null and absent are null. */
export function optionalObject(body: Fields, name: string): Fields | null {
  const value = body[name] ?? null;
  if (value === null) return null;
  if (isObject(value)) return value;
  throw new RequestFault(`${name} must be an object`);
}

export function entityOf(body: Fields, name: 'subject' | 'resource'): Entity {
  const entity = memberOf(body, name);
  return { type: textOf(entity, 'type', name), id: textOf(entity, 'id', name) };
}

/** What is searched for: only its type counts. */
export function kindOf(body: Fields, name: 'subject' | 'resource'): string {
  return textOf(memberOf(body, name), 'type', name);
}

function memberOf(body: Fields, name: string): Fields {
  const member = optionalObject(body, name);
  if (member === null) throw new RequestFault(`${name} is required`);
  optionalObject(member, 'properties');
  return member;
}

export function actionOf(body: Fields): string {
  return textOf(memberOf(body, 'action'), 'name', 'action');
}

export function fromOf(body: Fields): unknown {
  return optionalObject(body, 'context')?.['namespace'] ?? null;
}

export function evaluationOf(body: Fields): EvaluationRequest {
  return {
    subject: entityOf(body, 'subject'),
    action: actionOf(body),
    resource: entityOf(body, 'resource'),
    from: fromOf(body),
  };
}

function textOf(entity: Fields, name: string, of: string): string {
  const value = entity[name] ?? null;
  if (value === null) throw new RequestFault(`${of}.${name} is required`);
  if (typeof value !== 'string') throw new RequestFault(`${of}.${name} must be a string`);
  return value;
}

export interface SearchPage {
  /** Null if it is as before. */
  readonly limit: number | null;
  readonly token: string | null;
}

export function pageOf(body: Fields): SearchPage {
  const page = optionalObject(body, 'page') ?? {};
  optionalObject(page, 'properties');
  const limit = page['limit'] ?? null;
  const token = page['token'] ?? null;
  if (limit !== null && (typeof limit !== 'number' || !Number.isInteger(limit) || limit < 1))
    throw new RequestFault('page.limit must be a whole number from 1');
  if (token !== null && typeof token !== 'string') throw new RequestFault('page.token must be a string');
  return { limit, token: token === '' ? null : token };
}
