// Clients that three generators make from the description of a running gateway. Each must compile strictly, ask the gateway and get an
// answer, and refuse to compile a misspelt operator.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { prepareStore, startGateway } from '../gateways.mjs';
import { installed } from '../npm.mjs';
import { startPostgres } from '../postgres.mjs';
import { ScenarioError } from '../processes.mjs';

export const title = 'clients made by generators';
export const packages = { postgresql: '/usr/lib/postgresql' };
export const seconds = 600;

const PACKAGES = [
  'openapi-typescript@7.13.0',
  'openapi-fetch@0.17.0',
  '@hey-api/openapi-ts@0.95.0',
  'orval@7.13.2',
  'typescript@5.9.3',
  '@types/node@20.19.43',
  'tsx@4.23.15',
];

const BODY = `{ family: 'resource', namespace: '/', reach: 'subtree', where: { 'properties.resolutionA': { OPERATOR: 2.2 } } }`;

/** How each makes its client, and a program that uses it. `OPERATOR` stands for the operator. */
const GENERATORS = {
  'openapi-typescript': {
    make: ({ bin, document, folder }) => [bin('openapi-typescript'), [document, '-o', join(folder, 'schema.d.ts')]],
    program: `import createClient from 'openapi-fetch';
import type { components, paths } from './schema.js';
const client = createClient<paths>({ baseUrl: URL_OF_GATEWAY, headers: { Authorization: KEY } });
// Declared by itself: openapi-fetch loosens the types of a body that is written in the call.
const body: components['schemas']['Query'] = ${BODY};
const { data, error } = await client.POST('/api/v1/query', { body });
if (data === undefined) throw new Error(JSON.stringify(error));
console.log(data.items.length);
`,
  },
  '@hey-api/openapi-ts': {
    make: ({ bin, document, folder }) => [
      bin('openapi-ts'),
      ['-i', document, '-o', join(folder, 'client'), '--silent'],
    ],
    program: `import { client } from './client/client.gen.js';
import { queryRecords } from './client/sdk.gen.js';
client.setConfig({ baseUrl: URL_OF_GATEWAY, headers: { Authorization: KEY } });
const { data, error } = await queryRecords({ body: ${BODY} });
if (data === undefined) throw new Error(JSON.stringify(error));
console.log(data.items.length);
`,
  },
  orval: {
    make: ({ bin, document, folder }) => [
      bin('orval'),
      ['--input', document, '--output', join(folder, 'client.ts'), '--client', 'fetch'],
    ],
    program: `import { queryRecords } from './client.js';
const ask = globalThis.fetch;
globalThis.fetch = (path, options) => ask(\`\${URL_OF_GATEWAY}\${String(path)}\`, options);
const { data, status } = await queryRecords(${BODY}, { headers: { Authorization: KEY } });
if (status !== 200) throw new Error(JSON.stringify(data));
console.log(data.items.length);
`,
  },
};

export async function run(scenario) {
  const postgres = await startPostgres(scenario);
  const store = await prepareStore(scenario, postgres.url);
  const gateway = await startGateway(scenario, { store });
  const modules = await installed(scenario, 'clients', PACKAGES);
  const rows = [];
  for (const name of Object.keys(GENERATORS)) rows.push(await tried(scenario, { name, gateway, store, modules }));
  return rows;
}

async function tried({ folder: place, processes }, { name, gateway, store, modules }) {
  const plain = name.replaceAll(/\W/g, '-');
  const folder = join(place, plain);
  mkdirSync(folder);
  symlinkSync(modules, join(folder, 'node_modules'));
  const bin = (program) => join(modules, '.bin', program);
  const { make, program } = GENERATORS[name];
  const [generator, args] = make({ bin, folder, document: `${gateway.url}/openapi.json` });
  await processes.run(`${plain}-make`, generator, args, { cwd: folder });

  const settings = {
    module: 'preserve',
    target: 'es2022',
    lib: ['es2022', 'dom', 'dom.iterable'],
    strict: true,
    noEmit: true,
    types: ['node'],
  };
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  const written = (operator) => {
    const start = `const URL_OF_GATEWAY = '${gateway.url}';\nconst KEY = 'Bearer ${store.keys.mireille}';\n`;
    const [imports, rest] = [/^(?:import .*\n)*/.exec(program)[0], program.replace(/^(?:import .*\n)*/, '')];
    writeFileSync(join(folder, 'main.ts'), `${imports}${start}${rest.replaceAll('OPERATOR', operator)}`);
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: settings, files: ['main.ts'] }));
  };
  const compile = (step) => processes.run(`${plain}-${step}`, bin('tsc'), ['-p', folder], { cwd: folder });
  written('gte');
  await compile('compile');
  // The clients are for bundlers: their imports have no extensions.
  const said = await processes.run(`${plain}-run`, bin('tsx'), [join(folder, 'main.ts')], { cwd: folder });
  const seen = Number(said.trim());
  written('gtee');
  const isCaught = await compile('misspelt').then(
    () => false,
    (error) => {
      if (error instanceof ScenarioError) return true;
      throw error;
    },
  );
  const told = `compiles strictly, ${seen} records read, a misspelt operator is ${isCaught ? 'caught' : 'NOT caught'}`;
  return { title: `client by ${name}`, isGood: seen > 0 && isCaught, told };
}
