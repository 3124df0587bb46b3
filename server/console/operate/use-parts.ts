// The state of a pane, which is replaced part by part.
import { useCallback, useState } from 'preact/hooks';

type Change<State> = (parts: Partial<State> | ((before: State) => Partial<State>)) => void;

export function useParts<State extends object>(initial: State): readonly [State, Change<State>] {
  const [state, setState] = useState(initial);
  const change = useCallback<Change<State>>((parts) => {
    setState((before) => ({ ...before, ...(typeof parts === 'function' ? parts(before) : parts) }));
  }, []);
  return [state, change];
}
