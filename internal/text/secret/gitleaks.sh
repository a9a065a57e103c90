#!/usr/bin/env bash
# Replaces the rules in folder gitleaks by those of another release of gitleaks, with their licence:
#
#   internal/text/secret/gitleaks.sh v8.30.0
#
# Then run the tests, and examples.sh VERSION NOTES, and name the release in rules.go.
set -euo pipefail
version=${1:?a release of gitleaks, such as v8.30.0}
cd "$(dirname "$0")"
source=$(GOFLAGS=-mod=mod go mod download -json "github.com/zricethezav/gitleaks/v8@$version" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
install -m 644 "$source/config/gitleaks.toml" "$source/LICENSE" gitleaks/
