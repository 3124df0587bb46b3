import { getEventListeners } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { eitherSignal, signalWithin } from '../../../server/lib/either-signal.js';
import { inTime } from '../../../server/lib/until-aborted.js';
import { whileCollecting } from '../../support/collect-garbage.js';

const listenersOf = ({ signal }: AbortController): number => getEventListeners(signal, 'abort').length;

describe('a signal for two', () => {
  it('is aborted with the first of them, for its reason', () => {
    for (const first of [0, 1]) {
      const both = [new AbortController(), new AbortController()] as const;
      const { signal } = eitherSignal(both[0].signal, both[1].signal);
      expect(signal.aborted).toBe(false);
      both[first === 0 ? 0 : 1].abort(new Error('first'));
      both[first === 0 ? 1 : 0].abort(new Error('second'));
      expect(signal.reason).toEqual(new Error('first'));
    }
  });

  it('is aborted at once where one of them is', () => {
    const reason = new Error('before');
    for (const { signal } of [
      eitherSignal(AbortSignal.abort(reason), new AbortController().signal),
      eitherSignal(new AbortController().signal, AbortSignal.abort(reason)),
    ])
      expect(signal.reason).toBe(reason);
  });

  it('leaves nothing in a signal that lives on', async () => {
    const [one, other, gone] = [new AbortController(), new AbortController(), new AbortController()];
    const { signal, release } = eitherSignal(one.signal, other.signal);
    expect([listenersOf(one), listenersOf(other)]).toEqual([1, 1]);
    release();
    one.abort();
    expect([signal.aborted, listenersOf(one), listenersOf(other)]).toEqual([false, 0, 0]);

    const limits = { gone: gone.signal, time: 60_000, late: () => new Error('late') };
    const during = await inTime(() => Promise.resolve(listenersOf(gone)), limits);
    await expect(inTime(() => Promise.reject(new Error('failed')), limits)).rejects.toThrow('failed');
    expect([during, listenersOf(gone)]).toEqual([1, 0]);
  });
});

describe('a signal for one and a time', () => {
  it('is aborted after the time, though nobody holds it and garbage is collected', async () => {
    const gone = new AbortController();
    const reason = await whileCollecting(
      () =>
        new Promise((resolve) => {
          const { signal } = signalWithin(200, gone.signal);
          signal.addEventListener('abort', () => {
            resolve(signal.reason);
          });
        }),
    );
    expect(reason).toEqual(new Error('it took too long'));
  });

  it('is aborted with the other one, and leaves nothing behind when it is let go', async () => {
    const gone = new AbortController();
    const [before, during] = [signalWithin(20, gone.signal), signalWithin(60_000, gone.signal)];
    before.release();
    await new Promise((resolve) => setTimeout(resolve, 40));
    expect([before.signal.aborted, listenersOf(gone)]).toEqual([false, 1]);
    gone.abort(new Error('gone'));
    expect(during.signal.reason).toEqual(new Error('gone'));
    during.release();
    expect([before.signal.aborted, listenersOf(gone)]).toEqual([false, 0]);
  });
});
