#!/bin/sh
# What a change does to a policy: checks it, writes who gains and who loses what as Markdown, and fails if a gate forbids that. Run it at
# the root of a git checkout. The settings are variables of the environment:
#   POLICY_FOLDER   the policy (policies)
#   POLICY_BASE     the commit to compare with, such as origin/main
#   POLICY_GATES    none, or some of: new-access weaker-checks
#   POLICY_FORMAT   how mistakes are printed: text, github, junit, sarif, json (text)
#   POLICY_CHECKS   file for what is printed about mistakes (standard output)
#   POLICY_REPORT   file for the difference (policy-difference.md)
#   POLICY_COMMAND  bailiwick (npx --no-install bailiwick)
# It ends as `check` does if the policy is invalid, and with 7 if a gate forbids the change.
set -eu

folder=${POLICY_FOLDER:-policies}
base=${POLICY_BASE:?name the commit to compare with}
report=${POLICY_REPORT:-policy-difference.md}
# How many older versions are tried if the policy of the base is broken.
versions=20

bailiwick() {
  # The command is several words.
  # shellcheck disable=SC2086
  ${POLICY_COMMAND:-npx --no-install bailiwick} "$@"
}

fail() {
  printf '%s\n' "$1" >&2
  printf '%s\n' "$1" >"$report"
  exit 2
}

# Whether a commit has the folder. If git cannot say, that is an error, and not a checkout without a policy.
has_folder() {
  # The root is in every commit, but in no list of folders.
  root=$(git ls-tree "$1") && entry=$(git ls-tree -d "$1" -- "${folder%/}") ||
    fail "git cannot read the commit \`$1\`: fetch all of its history"
  [ "${folder%/}" != . ] || entry=$root
  [ -n "$entry" ]
}

flags=
for gate in ${POLICY_GATES:-}; do
  case $gate in
    new-access | weaker-checks) flags="$flags --no-$gate" ;;
    *) fail "there is no gate \`$gate\`; there are new-access and weaker-checks" ;;
  esac
done
git rev-parse --verify --quiet "$base^{commit}" >/dev/null ||
  fail "the commit \`$base\` is not in this checkout: fetch all of its history"

status=0
if [ -n "${POLICY_CHECKS:-}" ]; then
  bailiwick check "$folder" --strict --format "${POLICY_FORMAT:-text}" >"$POLICY_CHECKS" || status=$?
else
  bailiwick check "$folder" --strict --format "${POLICY_FORMAT:-text}" || status=$?
fi
if [ "$status" -ne 0 ]; then
  {
    echo 'This policy is not valid, so there is nothing to compare:'
    echo
    bailiwick check "$folder" --strict 2>&1 | sed 's/^/    /'
  } >"$report"
  exit "$status"
fi

if ! has_folder "$base"; then
  echo 'This adds the first policy: all access in it is new.' >"$report"
  case " ${POLICY_GATES:-} " in *' new-access '*) exit 7 ;; esac
  exit 0
fi

# The base may be broken. Then the newest version before it that is valid says what was allowed.
valid=
broken=
for commit in "$base" $(git rev-list --first-parent --max-count="$versions" "$base" -- "$folder"); do
  has_folder "$commit" || continue
  if found=$(bailiwick check "$commit:$folder" 2>&1); then
    valid=$commit
    break
  fi
  if [ -z "$broken" ]; then broken=$found; fi
done

{
  if [ -n "$broken" ]; then
    echo "The policy of \`$base\` is not valid:"
    echo
    printf '%s\n' "$broken" | sed 's/^/    /'
    echo
    if [ -n "$valid" ]; then
      echo "This compares with \`$valid\`, the last version that was."
    else
      echo 'No version before it is valid, so there is nothing to compare with.'
    fi
    echo
  fi
} >"$report"
if [ -z "$valid" ]; then
  # Nobody can say what this opens, so a gate stays closed.
  [ -z "$flags" ] || exit 7
  exit 0
fi
# shellcheck disable=SC2086
bailiwick diff "$valid:$folder" "$folder" --format markdown $flags >>"$report"
