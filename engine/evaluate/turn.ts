// Deciding uses memory that all questions share, so that it makes no objects. Reading what a caller passes may run code of the caller (a
// getter, a proxy), and that code may ask the engine. Its question then takes the place of the first one, whose answer would be about
// somebody else. So every question notes its turn, and has an answer only if no other turn has begun.
import { invariant } from '../model/invariant.js';

let turn = 0;

/** Call this before anything that a caller passes is read. */
export function beginTurn(): number {
  turn += 1;
  return turn;
}

/** Throws `InvariantError` if another decision has begun since `begun`. */
export function endTurn<Answer>(begun: number, answer: Answer): Answer {
  invariant(turn === begun, 'what is passed to the engine asks it nothing while it is read');
  return answer;
}
