#!/usr/bin/env node
// The program `bailiwick`. `bundle.mjs` puts it, its threads and its worker processes into few files, which start in less time.
import { run } from './main.js';

await run();
