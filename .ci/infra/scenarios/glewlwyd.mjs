// Glewlwyd, an OpenID provider that nobody here wrote: set up by its own API, it issues signed tokens to people (authorization code) and
// to a program (client credentials), which a gateway has to accept or to refuse. It writes groups as one string with commas.
import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { URLSearchParams } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { prepareStore, startGateway, verb } from '../gateways.mjs';
import { query, startPostgres } from '../postgres.mjs';
import { ask, freePort, ScenarioError } from '../processes.mjs';

export const title = 'tokens of Glewlwyd';
export const packages = { glewlwyd: 'glewlwyd', postgresql: '/usr/lib/postgresql' };
export const seconds = 180;

const AUDIENCE = 'https://bailiwick.example.org/';
const OTHER_AUDIENCE = 'https://elsewhere.example.org/';
const SHORT_SECONDS = 4;
const TOLERANCE_SECONDS = 1;
const FETCHED_MS = 15_000;
const PLUGIN = 'oidc';
const TABLES = '/usr/share/doc/glewlwyd/database/init.postgre.sql.gz';
const NAMESPACE = '/beamlines/amx';
const BACK = 'http://localhost/back';

const POLICY = {
  bailiwick: 1,
  name: 'glewlwyd-trial',
  providers: { glewlwyd: {} },
};
const GRANTS = {
  grants: [
    { id: 'staff', identity: 'glewlwyd-group:amx-staff', namespace: NAMESPACE, scopes: ['resource:*'] },
    { id: 'curators', identity: 'glewlwyd-group:curators', namespace: NAMESPACE, scopes: ['resource-template:read'] },
    // A client acts for nobody, so its own name is the subject.
    { id: 'robot', identity: 'glewlwyd:robot', namespace: NAMESPACE, scopes: ['resource:read'] },
  ],
};

export async function run(scenario) {
  const postgres = await startPostgres(scenario);
  const issuer = await startGlewlwyd(scenario, postgres);
  const store = { ...(await prepareStore(scenario, postgres.url)), snapshot: await compiled(scenario) };
  const gateway = await startGateway(scenario, {
    store,
    settings: {
      authentication: {
        keys: { enabled: false },
        oidc: [
          {
            issuer: issuer.url,
            audience: AUDIENCE,
            provider: 'glewlwyd',
            algorithms: ['ES256'],
            tokenType: 'access',
            groupsClaim: 'groups',
            groupsSeparator: ',',
            clockTolerance: `${TOLERANCE_SECONDS}s`,
          },
        ],
      },
    },
  });
  const checks = makeChecks(gateway);

  const staff = {
    identities: ['glewlwyd-group:amx-staff', 'glewlwyd-group:curators'],
    scopes: ['resource-template:read', 'resource:read', 'resource:write'],
  };
  const rhea = await issuer.tokensOf('rhea');
  const first = rhea.access_token;
  await checks.accepted('of two groups', first, staff);
  await checks.accepted('of one group', await issuer.accessOf('otto'), {
    identities: ['glewlwyd-group:curators'],
    scopes: ['resource-template:read'],
  });
  await checks.accepted('of no group', await issuer.accessOf('nils'), { identities: [], scopes: [] });
  await checks.accepted('of a program', await issuer.accessOfClient(), {
    identities: ['glewlwyd:robot'],
    scopes: ['resource:read'],
  });

  await checks.refused('an ID token', rhea.id_token);
  await checks.refused('a refresh token', rhea.refresh_token);
  await checks.refused('for another audience', await issuer.accessOf('rhea', { resource: OTHER_AUDIENCE }));
  await checks.refused('for no audience', await issuer.accessOf('rhea', { resource: null }));
  await checks.refused('with a changed signature', changed(first));

  await issuer.configure({ duration: SHORT_SECONDS });
  const short = await issuer.accessOf('rhea');
  await checks.accepted('not yet expired', short, staff);
  await sleep((SHORT_SECONDS + TOLERANCE_SECONDS + 1) * 1_000);
  await checks.refused('expired', short);

  await issuer.configure({ duration: 600, keys: ['two', 'one'] });
  const renewed = await issuer.accessOf('rhea');
  // For ten seconds after it has asked for the keys, a gateway does not ask again.
  await checks.until(renewed);
  await checks.accepted('of a new key', renewed, staff);
  await checks.accepted('of the old key, still published', first, staff);
  await issuer.configure({ keys: ['three'], published: ['two'] });
  await checks.refused('of a key that is not published', await issuer.accessOf('rhea'));
  await issuer.configure({ keys: ['two'], published: null });
  await gateway.stop();
  await gateway.start();
  await checks.refused('of a withdrawn key', first);
  await checks.accepted('of the key that is left', await issuer.accessOf('rhea'), staff);
  return { isGood: checks.faults.length === 0, told: checks.told() };
}

/** Asks the gateway with each token, and notes what is not as it should be. */
function makeChecks(gateway) {
  const faults = [];
  const counts = { accepted: 0, refused: 0 };
  const asked = (token, path, options = {}) =>
    ask(`${gateway.url}${path}`, { ...options, headers: { authorization: `Bearer ${token}`, ...options.headers } });
  return {
    faults,
    async accepted(what, token, expected) {
      const answer = await asked(token, '/api/v1/whoami');
      if (answer.status !== 200) {
        faults.push(`${what}: ${answer.status}`);
        return;
      }
      counts.accepted += 1;
      const { identities } = JSON.parse(answer.text);
      const named = identities.map(({ provider, subject }) => `${provider}:${subject}`);
      const known = named.filter((one) => one.startsWith('glewlwyd-group:') || expected.identities.includes(one));
      const permissions = await asked(token, `/api/v1/permissions?namespace=${encodeURIComponent(NAMESPACE)}`);
      const scopes = JSON.parse(permissions.text).scopes.map(({ scope }) => scope);
      for (const [name, found, due] of [
        ['identities', known, expected.identities],
        ['scopes', scopes, expected.scopes],
      ])
        if (found.sort().join() !== due.join()) faults.push(`${what}: ${name} are ${found.join()}, not ${due.join()}`);
    },
    /** Until the token is accepted, as long as that may take. */
    async until(token) {
      const end = Date.now() + FETCHED_MS;
      while (Date.now() < end && (await asked(token, '/api/v1/whoami')).status !== 200) await sleep(500);
    },
    async refused(what, token) {
      const answer = await asked(token, '/api/v1/whoami');
      if (answer.status === 401 && JSON.parse(answer.text).code === 'auth.invalid') counts.refused += 1;
      else faults.push(`${what}: ${answer.status}, not 401`);
    },
    told: () => [`${counts.accepted} tokens accepted, ${counts.refused} refused with 401`, ...faults].join('; '),
  };
}

async function compiled(scenario) {
  const folder = join(scenario.folder, 'policy');
  mkdirSync(folder);
  writeFileSync(join(folder, 'policy.yaml'), JSON.stringify(POLICY));
  writeFileSync(join(folder, 'grants.yaml'), JSON.stringify(GRANTS));
  const snapshot = join(scenario.folder, 'glewlwyd.json');
  await verb(scenario, 'glewlwyd', ['compile', folder, '-o', snapshot]);
  return snapshot;
}

function changed(token) {
  const last = token.length - 10;
  return `${token.slice(0, last)}${token[last] === 'A' ? 'B' : 'A'}${token.slice(last + 1)}`;
}

/** A Glewlwyd with a database of its own, a scope, two clients and three people. */
async function startGlewlwyd(scenario, postgres) {
  const { folder, processes } = scenario;
  await query(postgres.url, 'CREATE DATABASE glewlwyd');
  const database = postgres.urlOf('glewlwyd');
  await query(database, 'CREATE EXTENSION pgcrypto');
  await query(database, gunzipSync(readFileSync(TABLES)).toString());
  const port = await freePort();
  const base = `http://127.0.0.1:${port}`;
  const file = join(folder, 'glewlwyd.conf');
  writeFileSync(file, settings({ port, base, postgres, log: join(folder, 'glewlwyd-own.log') }));
  const one = processes.start('glewlwyd', 'glewlwyd', ['-c', file]);
  await processes.until(one, 'Glewlwyd answers', async () => (await ask(`${base}/config`)) !== false);

  const admin = await signedIn(base, { username: 'admin', password: 'password' });
  await admin('PUT', '/api/mod/user/database', await withGroups(admin));
  await admin('PUT', '/api/mod/user/database/reset');
  await admin('POST', '/api/scope', { name: 'records', display_name: 'records', password_required: true, scheme: {} });
  const client = {
    enabled: true,
    confidential: true,
    scope: ['records'],
    redirect_uri: [BACK],
    token_endpoint_auth_method: ['client_secret_basic'],
  };
  await admin('POST', '/api/client', {
    ...client,
    client_id: 'app',
    password: 'app-secret',
    authorization_type: ['code', 'refresh_token'],
  });
  await admin('POST', '/api/client', {
    ...client,
    client_id: 'robot',
    password: 'robot-secret',
    authorization_type: ['client_credentials'],
  });
  const people = { rhea: ['amx-staff', 'curators'], otto: ['curators'], nils: [] };
  for (const [username, groups] of Object.entries(people))
    await admin('POST', '/api/user', {
      username,
      password: `${username}-password`,
      scope: ['records', 'openid'],
      ...(groups.length > 0 ? { groups } : {}),
    });
  return configured({ base, admin });
}

function settings({ port, base, postgres, log }) {
  const modules = '/usr/lib/glewlwyd';
  const lines = {
    port,
    bind_address: '127.0.0.1',
    external_url: `${base}/`,
    login_url: 'login.html',
    api_prefix: 'api',
    allow_origin: '*',
    log_mode: 'file',
    log_level: 'WARNING',
    log_file: log,
    cookie_secure: 0,
    session_key: 'GLEWLWYD2_SESSION_ID',
    session_expiration: 3600,
    hash_algorithm: 'SHA512',
    user_module_path: `${modules}/user`,
    client_module_path: `${modules}/client`,
    user_auth_scheme_module_path: `${modules}/scheme`,
    plugin_module_path: `${modules}/plugin`,
  };
  const text = Object.entries(lines).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  const conninfo = `host=127.0.0.1 port=${postgres.port} dbname=glewlwyd user=postgres`;
  return `${text.join('\n')}\ndatabase = { type = "postgre", conninfo = "${conninfo}" };\n`;
}

/** What asks Glewlwyd's API as the person. Fails unless the answer is a success. */
async function signedIn(base, credentials) {
  const headers = { 'content-type': 'application/json' };
  const signIn = await fetch(`${base}/api/auth`, { method: 'POST', headers, body: JSON.stringify(credentials) });
  if (!signIn.ok) throw new ScenarioError(`Glewlwyd refuses ${credentials.username}: ${signIn.status}`);
  const cookie = signIn.headers
    .getSetCookie()
    .map((one) => one.split(';', 1)[0])
    .join('; ');
  return async (method, path, body) => {
    const answer = await fetch(`${base}${path}`, {
      method,
      headers: { ...headers, cookie },
      redirect: 'manual',
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (answer.status >= 400) throw new ScenarioError(`${method} ${path}: ${answer.status} ${text}`);
    return { text, location: answer.headers.get('location') };
  };
}

/** Its store of people, which does not know groups unless it is told. */
async function withGroups(admin) {
  const module = JSON.parse((await admin('GET', '/api/mod/user/database')).text);
  const format = { ...module.parameters['data-format'], groups: { multiple: true, read: true, write: true } };
  return { ...module, parameters: { ...module.parameters, 'data-format': format } };
}

/** The issuer as the scenario uses it. */
async function configured({ base, admin }) {
  const issuer = `${base}/api/${PLUGIN}`;
  const keys = new Map(['one', 'two', 'three'].map((kid) => [kid, newKey(kid)]));
  let state = { duration: 600, keys: ['one'], published: null, isThere: false };
  const jwksOf = (kids) => JSON.stringify({ keys: kids.map((kid) => keys.get(kid)) });
  const configure = async (change = {}) => {
    const next = { ...state, ...change };
    const plugin = {
      module: 'oidc',
      name: PLUGIN,
      display_name: 'OpenID Connect',
      enabled: true,
      parameters: {
        ...PARAMETERS,
        iss: issuer,
        'access-token-duration': next.duration,
        'jwks-private': jwksOf(next.keys),
        ...(next.published === null ? {} : { 'jwks-public': publicOf(jwksOf(next.published)) }),
      },
    };
    await (next.isThere ? admin('PUT', `/api/mod/plugin/${PLUGIN}`, plugin) : admin('POST', '/api/mod/plugin', plugin));
    if (next.isThere) await admin('PUT', `/api/mod/plugin/${PLUGIN}/reset`);
    state = { ...next, isThere: true };
  };
  await configure();
  const token = async (client, form) => {
    const answer = await fetch(`${issuer}/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from(`${client}:${client}-secret`).toString('base64')}` },
      body: new URLSearchParams(form),
    });
    const text = await answer.text();
    if (!answer.ok) throw new ScenarioError(`no token for ${client}, ${form.grant_type}: ${answer.status} ${text}`);
    return JSON.parse(text);
  };
  const tokensOf = async (username, { resource = AUDIENCE } = {}) => {
    const person = await signedIn(base, { username, password: `${username}-password` });
    const scope = 'openid records';
    await person('PUT', '/api/auth/grant/app', { scope });
    const shared = { redirect_uri: BACK, ...(resource === null ? {} : { resource }) };
    const asked = new URLSearchParams({ response_type: 'code', client_id: 'app', scope, nonce: 'n', ...shared });
    const { location } = await person('GET', `/api/${PLUGIN}/auth?${asked}&g_continue`);
    const code = new URL(location).searchParams.get('code');
    if (code === null) throw new ScenarioError(`no code for ${username}: ${location}`);
    return token('app', { grant_type: 'authorization_code', code, ...shared });
  };
  const machine = { grant_type: 'client_credentials', scope: 'records', resource: AUDIENCE };
  return {
    url: issuer,
    configure,
    tokensOf,
    accessOf: async (username, options) => (await tokensOf(username, options)).access_token,
    accessOfClient: async () => (await token('robot', machine)).access_token,
  };
}

function newKey(kid) {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { ...privateKey.export({ format: 'jwk' }), kid, alg: 'ES256' };
}

function publicOf(jwks) {
  return JSON.stringify(JSON.parse(jwks), (name, value) => (name === 'd' ? undefined : value));
}

const PARAMETERS = {
  'refresh-token-duration': 1_209_600,
  'code-duration': 600,
  'refresh-token-rolling': false,
  'allow-non-oidc': true,
  'auth-type-code-enabled': true,
  'auth-type-password-enabled': false,
  'auth-type-client-enabled': true,
  'auth-type-refresh-enabled': true,
  'subject-type': 'public',
  'jwks-show': true,
  'resource-allowed': true,
  'resource-scope': { records: [AUDIENCE, OTHER_AUDIENCE] },
  'resource-client-property': 'resource',
  'resource-scope-and-client-property': false,
  'additional-parameters': [{ 'user-parameter': 'groups', 'token-parameter': 'groups' }],
};
