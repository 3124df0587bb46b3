#!/bin/sh
# Puts the difference of a policy into one comment of a pull request on GitHub, and updates that comment afterwards. It needs GH_TOKEN,
# GH_REPO (owner/name), PR (its number), and `gh`.
set -eu

report=${POLICY_REPORT:-policy-difference.md}
mark="<!-- bailiwick diff ${POLICY_FOLDER:-policies} -->"
comment=$(mktemp)
trap 'rm -f "$comment"' EXIT
{
  echo "$mark"
  # A comment has at most 65,536 characters.
  awk '{ size += length($0) + 1; if (size > 60000) { print "\n… the rest is in the summary of the job"; exit } print }' "$report"
} >"$comment"
# Others can write the mark, too: only comments of an app are updated.
find=".[] | select(.user.type == \"Bot\" and (.body | startswith(\"$mark\"))) | .id"
ids=$(gh api "repos/$GH_REPO/issues/$PR/comments" --paginate --jq "$find")
id=$(echo "$ids" | head -n 1)
if [ -n "$id" ]; then
  gh api --silent --method PATCH "repos/$GH_REPO/issues/comments/$id" --field "body=@$comment"
else
  gh pr comment "$PR" --body-file "$comment"
fi
