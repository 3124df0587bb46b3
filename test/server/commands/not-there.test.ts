// A write of a record that is not there is refused in the same words whatever the actor may do. Only the operator's log
// says why.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type CommandDoors, openCommandDoors } from '../../support/command-doors.js';
import { describeOnStores } from '../../support/stores.js';

const ABSENT = '01900000-0000-7000-8000-00000000dead';

describeOnStores('a write of what is not there', (store) => {
  let doors: CommandDoors;
  let there = '';
  /** Every way to write a record, and the reason that the log has for each. */
  const refusals = async (actor: string, id: string): Promise<readonly string[]> => {
    const ways: readonly (readonly [request: string, body: object])[] = [
      [`PATCH /api/v1/resources/${id}`, { description: 'd' }],
      [`POST /api/v1/resources/${id}/archive`, {}],
      [`POST /api/v1/resources/${id}/restore`, {}],
      [`POST /api/v1/resources/${id}/copies`, { destination: '/labs' }],
      [`POST /api/v1/resources/${id}/move`, { namespace: '/labs' }],
      [`DELETE /api/v1/resources/${id}`, {}],
      [`POST /api/v1/resource-templates/${id}/versions`, { version: '2' }],
    ];
    const said: string[] = [];
    for (const [request, body] of ways) {
      const takesRevision = !/copies|versions/.test(request);
      const { status, json } = await doors.send(actor, request, {
        ...(request.startsWith('DELETE') ? {} : { body }),
        ...(takesRevision ? { ifMatch: 1 } : {}),
      });
      const { reason } = doors.log.at(-1) as { readonly reason?: unknown };
      said.push(`${String(status)} ${String(json['code'])}: ${String(reason)}`);
    }
    return said;
  };
  const always = (text: string): readonly string[] => Array.from({ length: 7 }, () => text);

  beforeAll(async () => {
    const actors = { ada: { '/': '*:*' }, ray: { '/': '*:read' }, wes: { '/': '*:write' }, una: {} };
    doors = await openCommandDoors({ db: store.db, actors });
    await doors.send('ada', 'PUT /api/v1/namespaces/labs', { body: {} });
    const made = await doors.send('ada', 'POST /api/v1/resources', { body: { namespace: '/labs', name: 'r' } });
    there = String(made.json['id']);
  });

  afterAll(async () => {
    await doors.close();
  });

  it.each(['ada', 'ray', 'wes', 'una'])('is not found, whatever %s may do', async (actor) => {
    expect(await refusals(actor, ABSENT)).toEqual(always('404 record.not_found: no record of the family'));
    expect(await refusals(actor, 'no-id')).toEqual(always('404 record.not_found: no id'));
  });

  it('is refused alike where the record is there, but not for the actor', async () => {
    const notThere = '404 record.not_found: no record of the family';
    expect(await refusals('una', there)).toEqual([
      ...Array.from({ length: 6 }, () => '404 record.not_found: no_matching_grant'),
      notThere,
    ]);
  });
});
