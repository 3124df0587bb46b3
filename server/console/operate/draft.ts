// The state of a part of the page: plain data that is changed by drafts, so that what is shown never changes behind its back.
import { type Draft, produce } from 'immer';
import { useCallback, useState } from 'preact/hooks';

type Change<State> = (recipe: (draft: Draft<State>) => void) => void;

export function useDraft<State>(initial: State): readonly [State, Change<State>] {
  const [state, setState] = useState(initial);
  const change = useCallback<Change<State>>((recipe) => {
    setState((before) =>
      produce(before, (draft) => {
        recipe(draft);
      }),
    );
  }, []);
  return [state, change];
}
