// Which files are read at all: those named like policy files, and only as many and as large as the limits allow.
import { groupDigits } from '../diagnostics/fault-words.js';
import type { EngineLimits } from '../limits.js';
import { invariant } from '../model/invariant.js';
import type { Sink } from '../diagnostics/report.js';
import type { SourceFile } from './read-document.js';

/** `files` are sorted by path. What is left out and could be missed has been reported. */
export function acceptFiles(files: readonly SourceFile[], limits: EngineLimits, sink: Sink): ReadonlySet<SourceFile> {
  const accepted = new Set<SourceFile>();
  let totalBytes = 0;
  for (const [index, file] of files.entries()) {
    const { path } = file;
    const { length } = file.bytes;
    invariant(files[index - 1]?.path !== path, `the file ${path} was given twice`);
    if (!path.endsWith('.yaml')) {
      if (!ASIDE.test(path))
        sink.add({
          code: 'FILE_IGNORED',
          file: path,
          message: 'the file is not read',
          help: 'policy files end in `.yaml`',
        });
      continue;
    }
    if (accepted.size === limits.files) {
      sink.add({
        code: 'FILE_TOO_MANY',
        file: path,
        message: `the folder has more than ${groupDigits(limits.files)} policy files`,
        help: 'join files; how grants are spread over them has no meaning',
      });
      break;
    }
    if (length > limits.fileBytes) {
      const message = `the file has ${groupDigits(length)} bytes, and ${groupDigits(limits.fileBytes)} are allowed`;
      sink.add({ code: 'FILE_TOO_LARGE', file: path, message, help: 'split the file' });
      continue;
    }
    totalBytes += length;
    if (totalBytes > limits.totalBytes) {
      const message = `the files up to this one have more than ${groupDigits(limits.totalBytes)} bytes together`;
      const help = 'grant to roles instead of to one identity after the other, or split the policy';
      sink.add({ code: 'FILE_TOTAL_TOO_LARGE', file: path, message, help });
      break;
    }
    accepted.add(file);
  }
  return accepted;
}

/** What a policy folder may hold beside policy without a word (design 3). A hidden `*.yaml` is policy all the same. */
const ASIDE = /(?:^|\/)(?:\.[^/]*|[^/]*\.md|CODEOWNERS|LICENSE)$/;
