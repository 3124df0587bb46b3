// The few statements that a backend shared by many clients cannot simply run. They are found by their first words,
// because nothing here parses SQL. What is not found is caught by the engine or, for session state, forbidden by our
// own rules.

export type Statement =
  | { readonly kind: 'plain' }
  | { readonly kind: 'copy-in' }
  | { readonly kind: 'listen'; readonly channel: string }
  | { readonly kind: 'unlisten'; readonly channel: string | null }
  | { readonly kind: 'refused'; readonly reason: string };

const PLAIN: Statement = { kind: 'plain' };
const SPACE_OR_COMMENT = /^(?:\s+|--[^\n]*(?:\n|$)|\/\*[^]*?\*\/)+/;
const NAME = /^\s+(?:"((?:[^"]|"")+)"|([a-z_\u0080-\uffff][\w$\u0080-\uffff]*))\s*;?\s*$/i;
/** Any other statement is run as it is, without another look. */
const FIRST_WORD = /^(copy|listen|unlisten|discard|deallocate|set|reset)\b/i;
const COPY_FROM_CLIENT = /\bfrom\s+stdin\b/i;
const ANOTHER_STATEMENT = /;\s*\S/;
const TRANSACTION_SET = /^\s+(?:local|transaction|constraints)\b/i;

/** The kind of a statement. A text with several statements is judged by its first. */
export function classify(text: string): Statement {
  const sql = text.replace(SPACE_OR_COMMENT, '');
  const word = FIRST_WORD.exec(sql)?.[0];
  if (word === undefined) return PLAIN;
  const rest = sql.slice(word.length);
  switch (word.toLowerCase()) {
    case 'copy':
      return copy(sql);
    case 'listen':
      return listen(rest);
    case 'unlisten':
      return /^\s*\*/.test(rest) ? { kind: 'unlisten', channel: null } : unlisten(rest);
    case 'discard':
      return refused('DISCARD would drop what other clients use');
    case 'deallocate':
      return /^\s+(?:prepare\s+)?all\b/i.test(rest)
        ? refused('DEALLOCATE ALL would drop the statements of other clients')
        : PLAIN;
    case 'set':
      return TRANSACTION_SET.test(rest)
        ? PLAIN
        : refused('SET would change the settings of other clients: use SET LOCAL');
    default:
      return refused('RESET would change the settings of other clients: use SET LOCAL');
  }
}

/** True for a text that might ask its client for COPY data in a place where `classify` does not look. */
export const mentionsCopyIn = (text: string): boolean => /\bcopy\b/i.test(text) && COPY_FROM_CLIENT.test(text);

function copy(sql: string): Statement {
  if (!COPY_FROM_CLIENT.test(sql)) return PLAIN;
  return ANOTHER_STATEMENT.test(sql)
    ? refused('COPY FROM STDIN must be sent as a statement of its own')
    : { kind: 'copy-in' };
}

function listen(rest: string): Statement {
  const channel = channelOf(rest);
  return channel === null ? refused('LISTEN must be sent as a statement of its own') : { kind: 'listen', channel };
}

function unlisten(rest: string): Statement {
  const channel = channelOf(rest);
  return channel === null ? refused('UNLISTEN must be sent as a statement of its own') : { kind: 'unlisten', channel };
}

/** An unquoted name folds to lower case, as in PostgreSQL. */
function channelOf(rest: string): string | null {
  const [, quoted, plain] = NAME.exec(rest) ?? [];
  if (quoted !== undefined) return quoted.replaceAll('""', '"');
  return plain?.toLowerCase() ?? null;
}

const refused = (reason: string): Statement => ({ kind: 'refused', reason });
