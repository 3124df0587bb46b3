// The script of the worker.
import { serveDesk, type Thread } from './serve.js';

declare const self: Thread;

serveDesk(self);
