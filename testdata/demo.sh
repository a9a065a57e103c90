#!/usr/bin/env bash
# Shows the main job on testdata/workspace: index, ask five questions, inject into one chat request.
# Touches nothing of the user's: settings, caches and indexes live in a temporary folder.
#
#   testdata/demo.sh [BINARY]     default: bin/memcore, which it builds
#
# MEMCORE_DEMO_ENGINE=lancedb runs it on that engine, for which BINARY has to be built with it.
set -euo pipefail
cd "$(dirname "$0")/.."

engine=${MEMCORE_DEMO_ENGINE:-}

binary=${1:-}
if [ -z "$binary" ]; then
  binary=bin/memcore
  .ci/build "$binary"
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/home" "$scratch/cache"
binary=$(cd "$(dirname "$binary")" && pwd)/$(basename "$binary")
for name in $(compgen -e MEMCORE_ || true); do unset "$name"; done

# Without --workspace the memory would be that of the whole repository, of which the folder is a part.
memcore() {
  HOME="$scratch/home" USERPROFILE="$scratch/home" LOCALAPPDATA="$scratch/cache" XDG_CACHE_HOME="$scratch/cache" \
    NO_COLOR=1 "$binary" --workspace testdata/workspace "$@"
}
fail() { echo "demo: FAILED: $*" >&2; exit 1; }

# ask prints the block that a question gets, and leaves it in $answer.
ask() {
  printf '\n$ memcore retrieve "%s"\n' "$1"
  answer=$(memcore retrieve "$1") || fail "retrieve \"$1\" exited with $?"
  [ -z "$answer" ] || printf '%s\n' "$answer"
}
want() { case $answer in *"$1"*) ;; *) fail "the answer lacks \"$1\"" ;; esac; }

choice=${engine:+--engine=$engine}
printf '$ cd testdata/workspace\n$ memcore index%s\n' "${choice:+ $choice}"
memcore index ${choice:+"$choice"} || fail "index exited with $?"

printf '\n$ memcore status\n'
status=$(memcore status) || fail "status exited with $?"
printf '%s\n' "$status"
case $status in *"13 Markdown files, 3 conversations"*) ;; *) fail "more or less is indexed than testdata/workspace" ;; esac
[ -z "$engine" ] || grep -q "\"engine\": \"$engine\"" <<<"$(memcore status --json)" || fail "status --json does not say engine $engine"

ask "which port does staging postgres use"
want 5433
want staging-database.md
ask "which voucher code is for the campervan family" # only in a session log
want CAMPER60
ask "cache stats" # named getCacheStats in the note
want getCacheStats
ask "Wie viele Werktage dauert eine Erstattung auf die Karte?"
want "drei bis fünf"
ask "who won the chess world championship in 1972"
[ -z "$answer" ] || fail "nothing is known about this, so nothing should be printed"
echo "(nothing: the memory does not know, so the turn stays as it is)"

request='[{"role":"system","content":"You help the Harbourline team."},{"role":"user","content":"I changed the nginx rules. What do I have to do now?"}]'
printf '\n$ echo %s | memcore proxy --once\n' "'$request'"
injected=$(printf '%s' "$request" | memcore proxy --once) || fail "proxy --once exited with $?"
printf '%s' "$injected" | python3 -m json.tool --no-ensure-ascii 2>/dev/null || printf '%s\n' "$injected"
case $injected in *"restart nginx"*) ;; *) fail "the request lacks the memory about nginx" ;; esac

printf '\ndemo: 13 Markdown files and 3 sessions indexed, 4 questions answered, 1 rightly left alone, 1 request injected\n'
