#!/bin/bash
# Puts the gate's report into the pull request, in one comment that each run replaces: ci/comment.sh FILE...
#
# Posts the first file that exists (`fa-profile gate --markdown FILE`). It finds the old comment by the hidden marker in the
# first line, among this bot's own comments only: others could use the marker too.
#
# On GitHub it needs gh and the variables GH_REPO, GH_TOKEN (pull-requests: write), and HEAD_OWNER, HEAD_BRANCH, HEAD_SHA of
# the run that made the file. They identify the pull request; the file does not, because a fork's run may have forged it.
# GATE_BOT: the account that comments, default github-actions[bot].
# On GitLab (GITLAB_CI is set) it needs GitLab's variables of a merge request's pipeline, and GATE_NOTE_TOKEN, an access token
# with the scope api.
#
# Exit code: 0 commented, or printed why there is nothing to comment; 2 failed.
set -eEuo pipefail
marker='<!-- fa-profile gate -->'

say() { echo "comment: $*" >&2; }
fail() { say "$*"; exit 2; }
trap 'if [ "$BASH_SUBSHELL" = 0 ]; then say "the comment could not be written"; fi; exit 2' ERR

file=
for candidate in "$@"; do
  if [ -z "$file" ] && [ -f "$candidate" ] && ! [ -L "$candidate" ]; then file=$candidate; fi
done
if [ -z "$file" ]; then say "none of these is there: $*"; exit 0; fi
# The file is untrusted: post it only if it looks like a report.
if [ "$(wc -c <"$file")" -gt 65536 ]; then fail "$file is longer than a comment may be (65536 bytes)"; fi
if [ "$(head -n 1 "$file")" != "$marker" ]; then fail "$file does not begin with $marker"; fi

on_github() {
  local name missing=
  for name in GH_REPO GH_TOKEN HEAD_OWNER HEAD_BRANCH HEAD_SHA; do
    if [ -z "${!name:-}" ]; then missing+=" $name"; fi
  done
  if [ -n "$missing" ]; then
    fail "not set:$missing; set them as ci/workflows/github-gate-comment.yml does, or on GitLab run it in a pipeline"
  fi
  local bot=${GATE_BOT:-github-actions[bot]} number comment
  number=$(gh api --method GET "repos/$GH_REPO/pulls" -f state=open -f head="$HEAD_OWNER:$HEAD_BRANCH" |
    jq -r --arg sha "$HEAD_SHA" '[.[] | select(.head.sha == $sha) | .number][0] // empty')
  if [ -z "$number" ]; then say "no open pull request is at $HEAD_SHA: it moved on, or was closed"; return; fi
  comment=$(gh api --method GET --paginate "repos/$GH_REPO/issues/$number/comments" -f per_page=100 |
    jq -rs --arg bot "$bot" --arg marker "$marker" \
      '[.[][] | select(.user.login == $bot and (.body | startswith($marker))) | .id][0] // empty')
  if [ -n "$comment" ]; then
    gh api --method PATCH "repos/$GH_REPO/issues/comments/$comment" -F body=@"$file" >/dev/null
    say "replaced comment $comment of pull request $number"
  else
    gh api --method POST "repos/$GH_REPO/issues/$number/comments" -F body=@"$file" >/dev/null
    say "commented on pull request $number"
  fi
}

# The token goes to curl through a private file: every process of the machine can see arguments.
gitlab() {  # <method> <address> [curl options...]
  local method=$1 address=$2
  shift 2
  curl --silent --show-error --fail --retry 2 --request "$method" "$@" "$address" \
    --header @<(printf 'PRIVATE-TOKEN: %s\n' "$GATE_NOTE_TOKEN")
}

on_gitlab() {
  if [ -z "${CI_MERGE_REQUEST_IID:-}" ]; then say "not the pipeline of a merge request"; return; fi
  if [ -z "${GATE_NOTE_TOKEN:-}" ]; then say "GATE_NOTE_TOKEN is not set here (a fork's pipeline has no secrets)"; return; fi
  local notes="$CI_API_V4_URL/projects/$CI_PROJECT_ID/merge_requests/$CI_MERGE_REQUEST_IID/notes" me note page found
  note=
  me=$(gitlab GET "$CI_API_V4_URL/user" | jq -r .id)
  for page in 1 2 3 4 5 6 7 8 9 10; do
    found=$(gitlab GET "$notes?per_page=100&page=$page")
    note=$(jq -r --argjson me "$me" --arg marker "$marker" \
      '[.[] | select(.author.id == $me and (.body | startswith($marker))) | .id][0] // empty' <<<"$found")
    if [ -n "$note" ] || [ "$(jq length <<<"$found")" -lt 100 ]; then break; fi
  done
  if [ -n "$note" ]; then
    gitlab PUT "$notes/$note" --data-urlencode "body@$file" >/dev/null
    say "replaced note $note"
  else
    gitlab POST "$notes" --data-urlencode "body@$file" >/dev/null
    say "commented on merge request $CI_MERGE_REQUEST_IID"
  fi
}

if [ -n "${GITLAB_CI:-}" ]; then on_gitlab; else on_github; fi
