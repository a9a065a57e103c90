#!/usr/bin/env bash
# Finds or builds LanceDB's native library for lancedb-go, and prints the folder that holds it, or what
# a program is linked with. Everything else it says goes to standard error.
#
#   store/lancedb/native/library.sh                  prints the folder
#   store/lancedb/native/library.sh --flags          prints the value for CGO_LDFLAGS
#   store/lancedb/native/library.sh --flags ORIGIN…  the same for a program that looks for the library in each ORIGIN
#
# In this order:
#   1. LANCEDB_LIB=FOLDER, a folder that holds the library;
#   2. the user's cache folder, under a hash of what the library is made of;
#   3. the library that upstream publishes, if its release page answers within seconds and gives the
#      archive's SHA-256 (MEMCORE_LANCEDB_PREBUILT=no does without; MEMCORE_LANCEDB_SHA256=HEX says
#      which archive to trust instead);
#   4. a build from the source that comes with the Go module: about 34 minutes of one core, 4 GB of
#      disk meanwhile. An interrupted build goes on where it was.
#
# The build needs go, cargo and a C compiler; protoc comes as a package of cargo's registry.
# What is run in it is compared with a SHA-256 (MEMCORE_PROTOC_SHA256=HEX trusts another protoc).
# Exit status: 0 found; 3 a tool is missing; 1 anything else.
set -euo pipefail
started_in=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
export GOWORK=off GOFLAGS=-mod=readonly # the module is the one in our go.mod, whatever the caller's settings

module=github.com/lancedb/lancedb-go
minimum_rust=1.86 # the highest rust-version of the packages in the module's Cargo.lock

say() { echo "lancedb: $*" >&2; }
die() { local status=$1; shift; say "$*"; exit "$status"; }

# platform sets os and arch as Go names them, and library, the file wanted.
platform() {
  os=$(go env GOOS) arch=$(go env GOARCH)
  case $os/$arch in
    linux/amd64 | linux/arm64) library=liblancedb_go.so ;;
    darwin/amd64 | darwin/arm64) library=liblancedb_go.dylib ;;
    *) die 1 "there is no recipe for $os/$arch: build liblancedb_go yourself and set LANCEDB_LIB to its folder" ;;
  esac
}

# usable says whether a folder holds a library that programs can be linked with.
usable() { [ -s "$1/$library" ] || [ -s "$1/liblancedb_go.a" ]; }

# prepare copies the module's source into the folder $1 and makes it one that a current compiler builds:
# lancedb from the package registry instead of its git repository (the same code), and lance with a
# higher recursion limit. The versions and checksums of all packages stay those of the module's
# Cargo.lock. A search with an approximate index looks into 40 of its partitions instead of 20, which
# the binding has no option for: on real embeddings, recall@50 is then 0.96 instead of 0.93
# (docs/benchmarks.md).
prepare() {
  local source=$1 lance
  [ ! -e "$source/ready" ] || return 0
  rm -rf "$source" && mkdir -p "$source"
  cp -R "$(go list -m -f '{{.Dir}}' $module)/rust" "$source/rust"
  chmod -R u+w "$source"
  edit "$source/rust/Cargo.toml" '/^lancedb = \{/ { $0 = "lancedb = { version = \"=0.22.1\", default-features = false }"; n++ } { print }'
  edit "$source/rust/Cargo.lock" '/^source = "registry/ { registry = $0 } /^source = "git\+.*lancedb\.git/ { n++
      print registry
      $0 = "checksum = \"f8149ce2a24268e757572716b44985ad0573156e101dfdefb49e6de212c989df\"" } { print }'
  edit "$source/rust/src/query.rs" '{ print } /^ *\.column\(column\)$/ { sub(/column\(column\)/, "nprobes(40)"); print; n++ }'
  lance=$(package_folder "$source/rust" lance 0.37.0 --locked)
  cp -R "$lance" "$source/lance"
  chmod -R u+w "$source/lance"
  { echo '#![recursion_limit = "512"]'; cat "$lance/src/lib.rs"; } >"$source/lance/src/lib.rs"
  printf '\n[patch.crates-io]\nlance = { path = "../lance" }\n' >>"$source/rust/Cargo.toml"
  edit "$source/rust/Cargo.lock" '/^name = / { name = $3 } /^source = / && name == "\"lance\"" { n++; next }
      /^checksum = / && name == "\"lance\"" { next } { print }'
  protoc_folder "$source" >"$source/protoc"
  touch "$source/ready"
}

# edit puts the file $1 through the awk program $2, which counts in n what it changed: once, or the
# file is not what the recipe was made for.
edit() {
  awk "$2"' END { exit n != 1 }' "$1" >"$1.new" || { say "$1 is not what the recipe expects"; return 1; }
  mv "$1.new" "$1"
}

# package_folder prints where cargo keeps the source of package $2, version $3, which the project in $1
# needs. What follows is for cargo.
package_folder() {
  local project=$1 name=$2 version=$3
  shift 3
  (cd "$project" && cargo metadata --format-version 1 "$@" 2>>"$log") | grep -o '"manifest_path":"[^"]*/Cargo.toml"' |
    sed 's|^"manifest_path":"\(.*\)/Cargo.toml"$|\1|' | grep -E "/$name-$version\$"
}

# protoc_folder prints the folder of the package that holds a protoc for this machine.
protoc_folder() {
  local host=linux-x86_64
  case $os/$arch in
    linux/arm64) host=linux-aarch_64 ;;
    darwin/amd64) host=macos-x86_64 ;;
    darwin/arm64) host=macos-aarch_64 ;;
  esac
  mkdir -p "$1/protoc-package/src" && touch "$1/protoc-package/src/lib.rs"
  printf '[package]\nname = "protoc-package"\nversion = "0.0.0"\nedition = "2021"\n\n[dependencies]\nprotoc-bin-vendored-%s = "=3.3.0"\n\n[workspace]\n' \
    "$host" >"$1/protoc-package/Cargo.toml"
  package_folder "$1/protoc-package" "protoc-bin-vendored-$host" 3.3.0
}

# compile builds the library from the prepared source in the folder $1.
compile() {
  local source=$1 protoc
  protoc=$(cat "$source/protoc")/bin/protoc
  chmod u+x "$protoc" 2>/dev/null || true
  (cd "$source/rust" && PROTOC=$protoc CARGO_TARGET_DIR="$source/target" CARGO_PROFILE_RELEASE_LTO=off \
    CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_DEBUG=0 \
    cargo build --release --locked --color never) 2>&1 | tee -a "$log" | progress >&2
}

# progress makes a line now and then of the lines of cargo.
progress() {
  awk -v started="$(date +%s)" -v total=480 '
    /^ *Compiling / { if (++n % 40 == 0) { "date +%s" | getline now; close("date +%s")
      printf "lancedb: %d of about %d packages, %d min\n", n, total, (now - started) / 60; fflush() } }
    /^error/ { print "lancedb: " $0; fflush() }'
}

# key is a hash of all that decides what the library is: the module, the recipe, the platform.
key() {
  { go list -m -f '{{.Version}}' $module; grep "^$module " go.sum; declare -f prepare edit compile protoc_folder; echo "$os/$arch"; } |
    sha256 | cut -c1-16
}

# need names the tools that are missing and how to get them.
need() {
  local missing=0
  if ! recent_rust; then
    missing=1
    say "cargo and rustc $minimum_rust or later are missing: https://rustup.rs, brew install rust, or dnf install cargo; those of apt-get are often too old"
  fi
  if ! command -v cc >/dev/null; then
    missing=1
    say "a C compiler is missing: apt-get install build-essential, dnf install gcc, or xcode-select --install"
  fi
  [ $missing = 0 ] || die 3 "the native library cannot be built here; set LANCEDB_LIB to a folder that has it, or install what is missing"
}

# recent_rust says whether there is a Rust that builds the library.
recent_rust() {
  local have
  command -v cargo >/dev/null && have=$(rustc --version 2>/dev/null) || return 1
  awk -v have="${have#rustc }" -v want=$minimum_rust 'BEGIN { split(have, h, "."); split(want, w, ".")
    exit !(h[1] + 0 > w[1] + 0 || h[1] + 0 == w[1] + 0 && h[2] + 0 >= w[2] + 0) }'
}

# build makes $1/$library from source.
build() {
  need
  local cores minutes
  cores=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
  minutes=$((34 / cores > 4 ? 34 / cores : 4))
  say "building $library from the source of $module: about $minutes minutes on $cores cores, 4 GB of disk meanwhile"
  say "the log is $log; an interrupted build goes on next time"
  : >"$log"
  trap '{ grep -E "^error" -A 12 "$log" || true; } | tail -n 40 >&2; say "the build failed, see $log"; exit 1' EXIT
  prepare "$1/build"
  trusted_protoc "$(cat "$1/build/protoc")/bin/protoc"
  compile "$1/build"
  mkdir -p "$1/lib"
  cp "$1/build/target/release/$library" "$1/lib/$library.new"
  if [ "$os" = darwin ]; then strip -x "$1/lib/$library.new"; else strip --strip-unneeded "$1/lib/$library.new"; fi
  relocatable "$1/lib/$library.new"
  mv "$1/lib/$library.new" "$1/lib/$library"
  trap - EXIT
}

# trusted_protoc fails unless the program $1, which the build runs, is the one of protoc-bin-vendored 3.3.0: that package is in no lock
# file, so that cargo compares it with what its registry says only.
trusted_protoc() {
  local want=${MEMCORE_PROTOC_SHA256:-} have
  if [ -z "$want" ]; then
    case $os/$arch in
      linux/amd64) want=f6ee22d65361338459208da8bff801c9ca689741cba9187b34990dd45198f864 ;;
      linux/arm64) want=cb89a125fd3d6c1ee86ee65a2bcbd7c3ac7c3fab1a806e0c466f162882053cb7 ;;
      darwin/amd64) want=56ba0f583d8761975d177670a3375564fd2bf5a7d96182a9d0c3b818a893c0ff ;;
      darwin/arm64) want=765ccb18be73e565bfc3e2ad94e85039ca28f928b3e62b487e51b7b8fdf1dcfb ;;
    esac
  fi
  have=$(sha256 <"$1")
  [ "$have" = "$want" ] || { say "$1 has the SHA-256 $have, want $want: not run (MEMCORE_PROTOC_SHA256=… trusts another)"; return 1; }
}

# relocatable makes programs look for the library by their rpath. On Linux they do anyway.
relocatable() { [ "$os" != darwin ] || install_name_tool -id "@rpath/$library" "$1"; }

# prebuilt gets what upstream publishes for the module's version into $1/lib.
prebuilt() {
  [ "${MEMCORE_LANCEDB_PREBUILT:-yes}" != no ] || return 1
  command -v curl >/dev/null || return 1
  local version archive=lancedb-go-native-binaries.tar.gz sum=${MEMCORE_LANCEDB_SHA256:-}
  version=$(go list -m -f '{{.Version}}' $module)
  if [ -z "$sum" ]; then
    sum=$(published_sum "$version" "$archive") || { say "upstream's release page does not answer"; return 1; }
    [ -n "$sum" ] || { say "upstream's release page gives no checksum of $archive: not used (MEMCORE_LANCEDB_SHA256=… trusts one)"; return 1; }
  fi
  say "fetching $archive $version"
  rm -rf "$1/fetched" && mkdir "$1/fetched"
  unpack "$1" "https://github.com/lancedb/lancedb-go/releases/download/$version/$archive" "$sum" || { rm -rf "$1/fetched"; return 1; }
  rm -rf "$1/lib" && mv "$1/fetched/lib/${os}_$arch" "$1/lib" && rm -rf "$1/fetched"
}

# published_sum prints the SHA-256 that the release page of version $1 gives for the archive $2, or nothing.
published_sum() {
  local page
  page=$(curl -fsSL -m 10 "https://api.github.com/repos/lancedb/lancedb-go/releases/tags/$1" 2>/dev/null) || return 1
  tr ',{' '\n\n' <<<"$page" | awk -v name="\"$2\"" '
    /"name":/ { found = index($0, name) } found && /"digest":/ { print; exit }' | grep -oE '[0-9a-f]{64}' || true
}

# unpack fetches the archive at $2 into $1/fetched and unpacks it there, if its SHA-256 is $3 and it has
# a library for this platform.
unpack() {
  local archive=$1/fetched/archive folder=$1/fetched/lib/${os}_$arch
  curl -fsSL --connect-timeout 10 --speed-limit 20000 --speed-time 30 --retry 2 -o "$archive" "$2" ||
    { say "the archive could not be fetched"; return 1; }
  [ "$(sha256 <"$archive")" = "$3" ] || { say "the archive has another checksum than $3: not used"; return 1; }
  tar xzf "$archive" -C "$1/fetched" || return 1
  usable "$folder" || { say "the archive has no library for $os/$arch"; return 1; }
  [ ! -e "$folder/$library" ] || relocatable "$folder/$library"
}

# sha256 prints the SHA-256 of its input in hexadecimal.
sha256() { if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi | cut -d' ' -f1; }

# sweep removes what builds of other keys have left half done, gigabytes each, after a month. Their
# libraries stay: programs use them.
sweep() { find "$1" -mindepth 2 -maxdepth 2 -type d -name build -mtime +30 -exec rm -rf {} + || true; }

# hold takes the lock file $1 until the script ends: two builds at once would write the same files.
hold() {
  exec 9>"$1"
  locked nonblocking || { say "another build is running; waiting for it"; locked blocking; }
}

# locked takes the lock on descriptor 9; perl does it on macOS, which has no flock.
locked() {
  local wait="" operation=2 # LOCK_EX
  [ "$1" = blocking ] || { wait=-n operation=6; } # LOCK_EX|LOCK_NB
  if command -v flock >/dev/null; then
    flock $wait 9
  else
    perl -e 'open(my $f, ">&=", 9) or exit 2; flock($f, $ARGV[0]) or exit 1' $operation
  fi
}

# answer prints what was asked for of the folder $1. A path with blanks is quoted, as go reads it.
answer() {
  local folder=$1 format=${2:-} system="-lm -ldl -lpthread" flags origin
  [ "$os" != darwin ] || system="-framework Security -framework CoreFoundation -lc++"
  [ $# -gt 2 ] || set -- "$folder" "$format" "$folder"
  if [ "$format" != --flags ]; then
    echo "$folder"
  elif [ -s "$folder/$library" ]; then
    flags="$(quoted "-L$folder") -llancedb_go"
    for origin in "${@:3}"; do flags="$flags $(quoted "-Wl,-rpath,$origin")"; done
    echo "$flags"
  else
    echo "$(quoted "$folder/liblancedb_go.a") $system"
  fi
}

quoted() { case $1 in *\ *) echo "\"$1\"" ;; *) echo "$1" ;; esac }

command -v go >/dev/null || die 3 "go is missing: install Go 1.26 or later"
platform
if [ -n "${LANCEDB_LIB:-}" ]; then
  folder=$(cd "$started_in" && cd "$LANCEDB_LIB" 2>/dev/null && pwd) || die 1 "LANCEDB_LIB is $LANCEDB_LIB, which is no folder"
  usable "$folder" || die 1 "LANCEDB_LIB is $LANCEDB_LIB, which has no $library and no liblancedb_go.a"
  answer "$folder" "$@"
  exit
fi
case $os in darwin) caches=${HOME:?}/Library/Caches ;; *) caches=${XDG_CACHE_HOME:-${HOME:?}/.cache} ;; esac
root=$caches/memcore/lancedb
go mod download $module >&2
name=$(key)
dir=$root/$name
log=$dir/build.log
mkdir -p "$dir"
hold "$dir/lock"
if [ ! -e "$dir/complete" ]; then
  prebuilt "$dir" || build "$dir"
  touch "$dir/complete"
fi
rm -rf "$dir/build"
sweep "$root"
answer "$dir/lib" "$@"
