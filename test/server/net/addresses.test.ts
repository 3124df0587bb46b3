// Which addresses the gateway's own requests may go to.
import { describe, expect, it } from '@jest/globals';
import { type NetworkReach, reachFault, reachFrom } from '../../../server/net/addresses.js';

describe('an address', () => {
  it.each<readonly [address: string, publicly: boolean, privately: boolean]>([
    ['9.9.9.9', true, true],
    ['2620:fe::fe', true, true],
    ['10.0.0.1', false, true],
    ['100.64.0.1', false, true],
    ['192.168.1.1', false, true],
    ['::ffff:192.168.1.1', false, true],
    ['fd12::1', false, true],
    ['127.0.0.1', false, false],
    ['::1', false, false],
    ['169.254.169.254', false, false],
    ['::ffff:169.254.169.254', false, false],
    ['100.100.100.200', false, false],
    ['fd00:ec2::254', false, false],
    ['fe80::1', false, false],
    ['2002:a9fe:a9fe::1', false, false],
    ['not an address', false, false],
  ])('%s: in public %p, in private networks %p', (address, publicly, privately) => {
    const isReached = (reach: NetworkReach): boolean => reachFault(address, reach) === null;
    expect([isReached('public'), isReached('private')]).toEqual([publicly, privately]);
  });

  it('of the public network leads to no private one, and one that is our own may', () => {
    const found = ['9.9.9.9', '10.1.2.3', '127.0.0.1', '::ffff:10.1.2.3'].map(reachFrom);
    expect(found).toEqual(['public', 'private', 'private', 'private']);
  });
});
