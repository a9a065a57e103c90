#!/usr/bin/env bash
# Puts a real S3-compatible server, MinIO, into a folder, for tests of memories shared over object
# storage. Needs go; compiles for some minutes the first time.
#
#   real-minio.sh [DIR]     default: ${XDG_CACHE_HOME:-~/.cache}/memcore/minio-VERSION
#
# Prints the path of the executable on its last line. MINIO_BIN=/path/to/minio uses that one.
set -euo pipefail

version=v0.0.0-20260212201848-7aac2a2c5b7c
dir=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/memcore/minio-$version}

if [ -n "${MINIO_BIN:-}" ]; then
  "$MINIO_BIN" --version >&2 || { echo "real-minio: MINIO_BIN=$MINIO_BIN is no minio" >&2; exit 1; }
  echo "$MINIO_BIN"
  exit
fi
mkdir -p "$dir"
# Two runs at once would compile twice; the second waits. (macOS has no flock: run one.)
if command -v flock >/dev/null; then exec 9>"$dir/lock"; flock 9; fi
if [ ! -x "$dir/minio" ]; then
  echo "real-minio: compiling MinIO into $dir (several minutes)" >&2
  # Compiled in a module of its own, so that neither our go.mod nor our build flags matter.
  (cd "$dir" && GOFLAGS= GOWORK=off CGO_ENABLED=0 GOBIN="$dir" nice go install "github.com/minio/minio@$version") \
    >"$dir/build.log" 2>&1 || { tail -n 20 "$dir/build.log" >&2; exit 1; }
fi
echo "$dir/minio"
