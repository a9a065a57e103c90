#!/bin/sh
# Makes a fixture of what an earlier release kept: make.sh COMMIT NAME, in the tree. The release is built, indexes the notes of
# testdata/notes, and its index and state become testdata/earlier/NAME.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'cd "$here"; git worktree remove --force "$work/tree"; rm -rf "$work"' EXIT
git worktree add --quiet --detach "$work/tree" "$1"
(cd "$work/tree" && go build -o "$work/memcore" ./cmd/memcore)
mkdir -p "$work/home" "$work/ws/.git"
cp -R "$here/notes" "$work/ws/notes"
cd "$work/ws"
export HOME="$work/home"
unset XDG_CACHE_HOME XDG_CONFIG_HOME
MEMCORE_DAEMON_START=false "$work/memcore" index
MEMCORE_DAEMON_START=false "$work/memcore" retrieve 'which port does the staging postgres listen on?'
rm -rf "$here/earlier/$2"
mkdir -p "$here/earlier/$2"
cp -R "$work"/home/.cache/memcore/index/*/data "$here/earlier/$2/data"
cp -R "$work/home/.cache/memcore/embeddings" "$here/earlier/$2/embeddings"
find "$here/earlier/$2" -name '*.lock' -delete -o -name '*.turn' -delete -o -name LOCK -delete
