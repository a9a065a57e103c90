#!/bin/sh
# Installs memcore from a release: checks the archive against SHA256SUMS, and that against its
# signature where one is known, then copies files below a prefix. It needs no root.
#
#   install.sh [--lancedb] [--prefix DIR] [--from URL] [--version vX.Y.Z]
#
#   --lancedb      memcore with LanceDB
#   --prefix DIR   default: $PREFIX, else ~/.local
#   --from URL     folder of a release; default: $MEMCORE_RELEASE, else the project's newest one
#   --version V    another release of the project
set -eu

project=https://github.com/memcore/memcore/releases
# Public key of the releases' signatures, as "ssh-ed25519 AAAA…"; .ci/pack writes it here.
signer=''

die() {
  echo "install: $1" >&2
  [ $# -lt 2 ] || echo "hint: $2" >&2
  exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

# platform prints OS-ARCH as archives are named.
platform() {
  case $(uname -s) in
    Linux) os=linux ;;
    Darwin) os=darwin ;;
    MINGW* | MSYS* | CYGWIN*) die "this script does not install on Windows" "unpack memcore-windows-amd64.zip or memcore-windows-arm64.zip of $from yourself" ;;
    *) die "there is no memcore for the system '$(uname -s)'; there is one for Linux, macOS and Windows" "build it: go install github.com/memcore/memcore/cmd/memcore@latest" ;;
  esac
  case $(uname -m) in
    x86_64 | amd64) arch=amd64 ;;
    aarch64 | arm64) arch=arm64 ;;
    *) die "there is no memcore for the processor '$(uname -m)'; there is one for x86_64 and arm64" "build it: go install github.com/memcore/memcore/cmd/memcore@latest" ;;
  esac
  echo "$os-$arch"
}

# fetch NAME copies a file of the release to the scratch folder.
fetch() {
  if has curl; then
    curl -fsSL --proto-redir =https --retry 2 --connect-timeout 20 -o "$scratch/$1" "$from/$1" 2>"$scratch/error" && return
  elif has wget; then
    wget -q -T 20 -O "$scratch/$1" "$from/$1" 2>"$scratch/error" && return
  else
    die "neither curl nor wget is there to download $from/$1" "install one of them"
  fi
  why=$(tail -n 1 "$scratch/error")
  rm -f "${scratch:?}/$1"
  return 1
}

# need NAME fetches a file or ends.
need() {
  fetch "$1" || die "downloading $from/$1 failed: ${why:-no answer}" "check the network and the address; --from URL or MEMCORE_RELEASE names another"
}

sum() {
  if has sha256sum; then
    sha256sum "$1"
  elif has shasum; then
    shasum -a 256 "$1"
  else
    openssl dgst -sha256 -r "$1"
  fi | cut -d ' ' -f 1
}

# check_signature says in $trust what was checked.
check_signature() {
  if [ -z "$signer" ]; then
    trust="checksum only: this script knows no key"
    return
  fi
  need SHA256SUMS.sig
  if ! ssh-keygen -Y verify 2>&1 | grep -q 'Too few arguments'; then # not there, or before OpenSSH 8.1
    trust="checksum only: there is no ssh-keygen that verifies signatures"
    return
  fi
  echo "memcore $signer" >"$scratch/signers"
  ssh-keygen -Y verify -f "$scratch/signers" -I memcore -n memcore-release -s "$scratch/SHA256SUMS.sig" \
    <"$scratch/SHA256SUMS" >"$scratch/error" 2>&1 ||
    die "the signature of $from/SHA256SUMS is wrong: $(tail -n 1 "$scratch/error")" "nothing was installed; report it to the project"
  trust="checksum and signature"
}

# put MODE FROM TO copies a file; a running memcore keeps its old one.
put() {
  mkdir -p "$(dirname "$3")" || die "making $(dirname "$3") failed" "choose another folder with --prefix DIR"
  { cp "$2" "$3.new" && chmod "$1" "$3.new" && mv -f "$3.new" "$3"; } || die "writing $3 failed" "choose another folder with --prefix DIR"
}

# install_files copies what the unpacked archive has below the prefix.
install_files() {
  for library in "$1"/liblancedb_go.*; do
    [ ! -e "$library" ] || put 644 "$library" "$prefix/lib/memcore/${library##*/}"
  done
  put 755 "$1/memcore" "$prefix/bin/memcore"
  for page in "$1"/man/man1/*.1; do
    put 644 "$page" "$prefix/share/man/man1/${page##*/}"
  done
  put 644 "$1/completions/memcore.bash" "$prefix/share/bash-completion/completions/memcore"
  put 644 "$1/completions/_memcore" "$prefix/share/zsh/site-functions/_memcore"
  put 644 "$1/completions/memcore.fish" "$prefix/share/fish/vendor_completions.d/memcore.fish"
  for text in LICENSE THIRD_PARTY_NOTICES; do
    put 644 "$1/$text" "$prefix/share/doc/memcore/$text"
  done
}

report() {
  echo "installed $("$prefix/bin/memcore" version) in $prefix/bin, with manual pages and completions in $prefix/share"
  echo "verified: $trust"
  case :$PATH: in
    *:"$prefix/bin":*) echo "next: cd your/project && memcore init" ;;
    *) echo "next: put $prefix/bin in your PATH, then cd your/project && memcore init" ;;
  esac
  cat <<EOF
undo: memcore uninstall in each project, then
  rm -r "$prefix/bin/memcore" "$prefix"/share/man/man1/memcore*.1 "$prefix/share/doc/memcore" \\
    "$prefix/share/bash-completion/completions/memcore" "$prefix/share/zsh/site-functions/_memcore" \\
    "$prefix/share/fish/vendor_completions.d/memcore.fish"$([ ! -e "$prefix/lib/memcore" ] || printf ' "%s"' "$prefix/lib/memcore")
EOF
}

main() {
  prefix=${PREFIX:-${HOME:?}/.local}
  from=${MEMCORE_RELEASE:-$project/latest/download}
  program=memcore
  otherwise="build it: go install github.com/memcore/memcore/cmd/memcore@latest"
  while [ $# -gt 0 ]; do
    case $1 in
      --lancedb)
        program=memcore-lancedb
        otherwise="leave --lancedb out, or build it: docs/lancedb.md in the source"
        shift
        continue
        ;;
      --prefix) prefix=${2:?--prefix wants a folder} ;;
      --from) from=${2:?--from wants an address} ;;
      --version) from=$project/download/${2:?--version wants a version, such as v1.2.3} ;;
      *) die "unknown argument '$1'" "usage: install.sh [--lancedb] [--prefix DIR] [--from URL] [--version vX.Y.Z]" ;;
    esac
    shift 2
  done
  from=${from%/}
  name=$program-$(platform)
  has sha256sum || has shasum || has openssl || die "nothing here computes SHA-256" "install sha256sum, shasum or openssl"
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  trap 'exit 130' INT TERM

  need SHA256SUMS
  check_signature
  want=$(sed -n "s/^\([0-9a-f]\{64\}\) [ *]$name\.tar\.gz\$/\1/p" "$scratch/SHA256SUMS")
  [ -n "$want" ] || die "$from/SHA256SUMS does not name $name.tar.gz" "this release has no $program for this machine; $otherwise"
  need "$name.tar.gz"
  got=$(sum "$scratch/$name.tar.gz")
  [ "$got" = "$want" ] || die "$from/$name.tar.gz has SHA-256 $got, want $want" "the download is damaged or forged; nothing was installed. Try again"
  tar -xzf "$scratch/$name.tar.gz" -C "$scratch" || die "unpacking $name.tar.gz failed" "is there space in ${TMPDIR:-/tmp}?"
  "$scratch/$name/memcore" version >/dev/null || die "the program does not run on this machine; nothing was installed" "$("$scratch/$name/memcore" version 2>&1 | head -n 1)"
  install_files "$scratch/$name"
  report
}

main "$@"
