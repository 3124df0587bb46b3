// The thread that looks for SHA-1 collisions: one answer for each message, until it is ended.
import { parentPort } from 'node:worker_threads';
import { holdsCollision } from './sha1-collision.js';
import type { CollisionTask } from './sha1-thread.js';

parentPort?.on('message', ({ header, bytes }: CollisionTask) => {
  parentPort?.postMessage(holdsCollision(Buffer.concat([Buffer.from(header), bytes])));
});
