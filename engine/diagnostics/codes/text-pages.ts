// Pages of the codes about files, characters and sizes (docs/language.md "Strictness").
import { pagesOf } from './page.js';

export const TEXT_PAGES = pagesOf({
  FILE_IGNORED: {
    severity: 'warning',
    title: 'a file that is not read',
    explanation:
      'Only files whose names end in `.yaml` are policy. Every other file is reported, so that nobody believes that it is read. Names that begin with a dot, `*.md`, `CODEOWNERS` and `LICENSE` are skipped silently, unless they look like policy.',
    wrong: 'grants/notes.txt',
    right: 'grants/notes.md',
    shows: 'words',
  },
  FILE_MISNAMED: {
    title: 'a file that looks like policy under another name',
    explanation:
      'Only `*.yaml` is read, so a guardrail in `duties.yml` would guard nothing. These names are refused: `*.yml`, `*.YAML`, `*.json`, slips such as `*.yam`, and copies such as `team.yaml.bak`, `team.yaml~` or `team.yaml.txt`. A file of any other name (`duties.txt`) is refused if its text reads like policy. Listings and reviews do not show hidden files. So a hidden `*.yaml` is refused, and so are a hidden file whose name and text look like policy (`.duties.yml`) and policy in a hidden folder (`.old/duties.yaml`). Files that an editor keeps while a file is open (`.team.yaml.swp`) are skipped. Rename the file, or move it out of the folder.',
    wrong: 'guardrails/duties.yml',
    right: 'guardrails/duties.yaml',
    shows: 'words',
  },
  FILE_SYMLINK: {
    title: 'a symbolic link that leads out of the policy folder',
    explanation: 'Nobody who reviews the folder sees what is outside it. Copy the file into the folder instead.',
    wrong: 'grants/team.yaml -> ../../elsewhere/team.yaml',
    right: 'grants/team.yaml is a file',
    shows: 'words',
  },
  FILE_SPECIAL: {
    title: 'not a regular file',
    explanation: 'A pipe, a socket, a device, or a folder with the name of a policy file cannot be read as policy.',
    wrong: 'grants/team.yaml is a named pipe',
    right: 'grants/team.yaml is a file',
    shows: 'words',
  },
  FILE_UNREADABLE: {
    title: 'a file or folder that cannot be read',
    explanation:
      'A policy that is read only in part would decide differently. Correct the permissions, or remove the file.',
    wrong: 'grants/team.yaml has mode 000',
    right: 'grants/team.yaml can be read by the user who runs the command',
    shows: 'words',
  },
  FILE_NAME: {
    title: 'a file name that cannot be cited',
    explanation:
      'Names with control characters or invalid Unicode would break the lines in which reports cite them. Rename the file.',
    wrong: 'a file name with a line break in it',
    right: 'grants/team.yaml',
    shows: 'words',
  },
  FILE_TOO_LARGE: {
    title: 'a file that is larger than the limit',
    explanation: 'Split the file. All files are read together, so it makes no difference which file a grant is in.',
    wrong: 'a policy file of 65 MiB',
    right: 'two policy files of 33 MiB',
    shows: 'words',
  },
  FILE_TOO_MANY: {
    title: 'the folder has more files than the limit',
    explanation: 'Merge files. It makes no difference which file a grant is in.',
    wrong: 'a folder of 20,001 policy files',
    right: 'a folder of 2,000 policy files',
    shows: 'words',
  },
  FILE_TOTAL_TOO_LARGE: {
    title: 'all files together are larger than the limit',
    explanation: 'Grant to roles instead of single identities, or split the policy.',
    wrong: 'a policy folder of 1,025 MiB',
    right: 'a policy folder of 200 MiB',
    shows: 'words',
  },
  FILE_EMPTY: {
    severity: 'warning',
    title: 'a file without content',
    explanation: 'An empty policy file is legal, but its content may have been lost. Fill it or remove it.',
    wrong: '# grants of the optics group\n',
    right: 'grants: []\n',
  },
  TEXT_MERGE_CONFLICT: {
    title: 'an unresolved merge conflict',
    explanation:
      'The file still has the conflict markers (`<<<<<<<`, `=======`, `>>>>>>>`) of two changes that could not be merged. Neither side is read. Write what should be in force, and remove the lines with the markers.',
    wrong:
      'roles:\n  optics:\n<<<<<<< HEAD\n    members: [github:octocat]\n=======\n    members: [github:hubot]\n>>>>>>> main\n',
    right: 'roles:\n  optics:\n    members: [github:octocat, github:hubot]\n',
  },
  TEXT_BOM: {
    title: 'a byte order mark',
    explanation: 'Policy files are plain UTF-8. Save the file without a byte order mark.',
    wrong: '\u{FEFF}grants: []\n',
    right: 'grants: []\n',
  },
  TEXT_NOT_UTF8: {
    title: 'bytes that are not UTF-8',
    explanation: 'Other encodings cannot be told apart safely. Save the file as UTF-8.',
    wrong: 'a description in Latin-1',
    right: 'the same description in UTF-8',
    shows: 'words',
  },
  TEXT_NUL: {
    title: 'a NUL character',
    explanation: 'Many tools treat NUL as the end of the text, so they would show a different policy. Remove it.',
    wrong: 'roles:\n  optics: { description: "a\\0b" }\n',
    right: 'roles:\n  optics: { description: "a b" }\n',
  },
  TEXT_CONTROL: {
    title: 'a control character',
    explanation: 'Control characters can hide text from a reader. Write the text without them.',
    wrong: 'roles:\n  optics: { description: "a\\u001bb" }\n',
    right: 'roles:\n  optics: { description: "a b" }\n',
  },
  TEXT_BIDI: {
    title: 'a character that changes the direction of text',
    explanation:
      'Such characters make an editor show a line in another order than it is read, also in comments. Remove them; languages that are written from right to left do not need them.',
    wrong: 'roles:\n  # all of optics \u202e\n  optics: { members: [] }\n',
    right: 'roles:\n  # all of optics\n  optics: { members: [] }\n',
  },
  TEXT_INVISIBLE: {
    title: 'a character that cannot be seen',
    explanation:
      'Zero-width and similar characters make different strings look alike. They are refused outside of comments. Type the text again.',
    wrong: 'roles:\n  optics: { members: ["github:octo\u200bcat"] }\n',
    right: 'roles:\n  optics: { members: ["github:octocat"] }\n',
  },
  TEXT_TAB: {
    title: 'a tab',
    explanation: 'Tools show tabs with different widths, and indentation has a meaning in YAML. Use spaces.',
    wrong: 'roles:\n\toptics: { members: [] }\n',
    right: 'roles:\n  optics: { members: [] }\n',
  },
  TEXT_SPACE: {
    title: 'a special space where spaces have a meaning',
    explanation:
      'A no-break space and similar characters look like indentation but are text to YAML. They often come from text that was copied from a web page. Inside descriptions they are fine. Replace it by a plain space.',
    wrong: 'roles:\n\u00a0\u00a0optics: { members: [] }\n',
    right: 'roles:\n  optics: { members: [] }\n',
  },
  TEXT_LONE_CR: {
    title: 'a carriage return without a line feed',
    explanation: 'Some editors show it as a line break and others do not. End lines with LF or CRLF.',
    wrong: 'roles:\r  optics: {}\n',
    right: 'roles:\n  optics: {}\n',
  },
  TEXT_NOT_NFC: {
    title: 'text that is not in Unicode normal form C',
    explanation: 'Two spellings that look alike would be different names. Most editors can convert a file to NFC.',
    wrong: 'roles:\n  optics: { description: "cafe\u0301" }\n',
    right: 'roles:\n  optics: { description: "café" }\n',
  },
  TEXT_SURROGATE: {
    title: 'half of a surrogate pair',
    explanation: 'The escape is only half of a character. Write the character itself.',
    wrong: 'roles:\n  optics: { description: "\\uD83D" }\n',
    right: 'roles:\n  optics: { description: "🔬" }\n',
  },
  TEXT_CUT_OFF: {
    title: 'the file ends within a name',
    explanation:
      'The last line has no line break, so the file may have been cut off, and the rest of a name, path or identity would mean something else. End the file with a line break.',
    wrong: 'roles:\n  optics:\n    members:\n      - github:octo',
    right: 'roles:\n  optics:\n    members:\n      - github:octocat\n',
  },
  LIMIT_DEPTH: {
    title: 'nested too deeply',
    explanation: 'The limit is 32 nested lists and mappings, which no policy needs.',
    wrong: 'a list inside of 32 others',
    right: 'a list of strings',
    shows: 'words',
  },
  LIMIT_NODES: {
    title: 'a file that has more values than the limit',
    explanation: 'Split the file. All files are read together, so it makes no difference which file a grant is in.',
    wrong: 'a file of 20 million values',
    right: 'two files of 10 million values',
    shows: 'words',
  },
  LIMIT_COUNT: {
    title: 'the policy has more of something than the limit',
    explanation: 'The message names the limit and what exceeds it.',
    wrong: 'a policy of 10,001 guardrails',
    right: 'a policy of 100 guardrails',
    shows: 'words',
  },
  LIMIT_ROLE_DEPTH: {
    title: 'roles are nested too deeply',
    explanation: 'Each role of the chain is a member of the next. Shorten the chain.',
    wrong: 'a chain of 65 roles',
    right: 'a chain of 5 roles',
    shows: 'words',
  },
  LIMIT_EXPANDED: {
    title: 'the decision table would be larger than the limit',
    explanation:
      'Every group of identities with the same access has one row for each of its grants, also for those through roles. Grant ' +
      'higher up in the tree, or put identities with the same access into one role. Access that begins or ends is repeated ' +
      'in every namespace where it does: remove expired grants, and use the same instants in many grants.',
    wrong: 'a million identities with 1,000 grants of their own roles each',
    right: 'the same identities in 100 roles with 1,000 grants each',
    shows: 'words',
  },
  LIMIT_DIAGNOSTICS: {
    title: 'more mistakes than are listed',
    explanation: 'Correct what is listed and check again.',
    wrong: 'a folder with 10,001 mistakes',
    right: 'a folder with none',
    shows: 'words',
  },
});
