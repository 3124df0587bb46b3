// Strict YAML for what is no policy: settings and keyrings. It loads without the compiler, most of which a gateway does not need.
export type { Range } from './model/span.js';
export { readYaml } from './source/read-yaml.js';
