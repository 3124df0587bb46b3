// `bailiwick/client`: the API of a gateway for programs, typed. It loads nothing but itself.
export { connect, type ConnectOptions } from './http.js';
export type { CallOptions, Client, ItemOf, PageOf } from './client.js';
export { AnswerError, type ProblemCode, ProblemError } from './errors.js';
export type { AnswerOf, AskedOf, Family, OperationName, Records } from './operations.js';
