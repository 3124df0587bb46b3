// `bailiwick/client`: the API of a gateway for programs, typed. It loads nothing but itself.
export { connect, type ConnectOptions } from './http.js';
export type { BatchAnswers, BatchBuilder, Queued, QueuedRecord } from './batch.js';
export type { Client, FeedAsked, Followed } from './client.js';
export { AnswerError, type ProblemCode, ProblemError } from './errors.js';
export type {
  AnswerOf,
  AskedOf,
  At,
  Copied,
  CopyTo,
  Deleted,
  Made,
  MoveTo,
  NamespaceThere,
  NewNamespace,
  NewRecord,
  NewVersion,
  OperationName,
  Patch,
  Versioned,
  Written,
} from './operations.js';
export type {
  Conditions,
  AggregateEnvelope,
  CountEnvelope,
  Family,
  FieldOf,
  ItemOf,
  OrderOf,
  PageOf,
  QueryEnvelope,
  Records,
} from './queries.js';
export type { Answer, CallOptions, KeyedOptions } from './send.js';
