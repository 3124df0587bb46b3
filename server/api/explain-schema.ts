// What services that ask for explanations are answered (docs/asking.md).
import { digest } from './answer-schemas.js';
import { step } from './ask-schema.js';
import { GRANT_REF } from './held-schema.js';
import { instant } from './record-schema.js';
import { closed, schema, text, whole } from './schema.js';

const EXPLANATION = schema({
  title: 'Explanation',
  ...closed(['decision', 'steps', 'grants', 'edits'], {
    decision: { enum: ['allow', 'deny'] },
    step,
    steps: {
      description: 'In order, up to the step that failed.',
      type: 'array',
      items: { title: 'ExplainedStep', ...whole({ step, passed: { type: 'boolean' }, text }) },
    },
    grants: { type: 'array', items: GRANT_REF },
    edits: {
      description: 'Of a denial: changes of which each would allow it.',
      type: 'array',
      items: {
        title: 'Edit',
        ...closed(['text', 'change', 'opens'], {
          text,
          change: { type: 'object' },
          opens: whole({ cells: { type: ['integer', 'string'] } }),
          breaks: {
            description: 'Null: not computed, because a snapshot does not contain its guardrails.',
            type: ['array', 'null'],
            items: text,
          },
        }),
      },
    },
    noEdit: { description: 'Why there is no change.', ...text },
  }),
});

export const EXPLAINED_SCHEMA = schema({
  title: 'Explanations',
  ...whole({
    snapshot: digest,
    at: instant,
    results: { description: 'In the order of the questions.', type: 'array', items: EXPLANATION },
  }),
});
