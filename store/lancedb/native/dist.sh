#!/usr/bin/env bash
# Makes dist/memcore-VERSION-OS-ARCH and a tarball of it: memcore with LanceDB, and beside it the
# native library, which it finds wherever the folder is put. Then runs it from another place, without
# the library it was built with.
#
#   store/lancedb/native/dist.sh          E5=1: with the pack of multilingual-e5-small
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

lib=$(store/lancedb/native/library.sh)
os=$(go env GOOS) arch=$(go env GOARCH)
version=$(git describe --tags --always --dirty 2>/dev/null || echo unknown)
name=memcore-$version-$os-$arch
case $os in darwin) origin=@loader_path ;; *) origin=\$ORIGIN ;; esac

rm -rf "dist/$name" "dist/$name.tar.gz"
mkdir -p "dist/$name"
CGO_ENABLED=1 CGO_LDFLAGS=$(store/lancedb/native/library.sh --flags "$origin") \
  go build -trimpath -buildvcs=true -tags lancedb -o "dist/$name/memcore" ./cmd/memcore
for library in liblancedb_go.so liblancedb_go.dylib; do
  [ ! -e "$lib/$library" ] || cp "$lib/$library" "dist/$name/"
done
cp LICENSE README.md CHANGELOG.md "dist/$name/"
[ -z "${E5:-}" ] || cp "$(.ci/model-e5)" "dist/$name/"
program=$PWD/dist/$name/memcore
(cd lab/release && go run . notices "$program") >"dist/$name/THIRD_PARTY_NOTICES"
(cd lab/release && go run . sbom "$program") >"dist/$name/memcore.cdx.json"
tar czf "dist/$name.tar.gz" -C dist "$name"

elsewhere=$(mktemp -d)
trap 'rm -rf "$elsewhere"' EXIT
tar xzf "dist/$name.tar.gz" -C "$elsewhere"
mkdir "$elsewhere/home" "$elsewhere/work"
echo "# Staging: postgres listens on 5433" >"$elsewhere/work/notes.md"
memcore() {
  (cd "$elsewhere/work" && env -i PATH=/usr/bin:/bin HOME="$elsewhere/home" "$elsewhere/$name/memcore" "$@")
}
linked=$(ldd "$elsewhere/$name/memcore" 2>/dev/null || true)
if [ "$os" = linux ] && [ -e "dist/$name/liblancedb_go.so" ] && [[ $linked != *"liblancedb_go.so => $elsewhere/"* ]]; then
  echo "$linked" >&2
  echo "dist: FAILED: the program does not use the library beside it" >&2
  exit 1
fi
memcore index >/dev/null
status=$(memcore status --json)
grep -q '"engine": "lancedb"' <<<"$status" || { echo "$status" >&2; echo "dist: FAILED: the engine is not lancedb" >&2; exit 1; }
found=$(memcore search postgres)
grep -q 5433 <<<"$found" || { echo "dist: FAILED: the search finds nothing" >&2; exit 1; }
if [ -n "${E5:-}" ]; then
  memcore model add "$elsewhere/$name/multilingual-e5-small.memcore" >/dev/null
  memcore index --quiet >/dev/null
  memcore status --json | grep -q '"embedder": "pack/multilingual-e5-small/' || { echo "dist: FAILED: the pack is not used" >&2; exit 1; }
fi
echo "dist/$name.tar.gz ($(du -h "dist/$name.tar.gz" | cut -f1)), runs from anywhere"
