#!/usr/bin/env bash
# How much of what gitleaks' authors give as examples of secrets is taken out, and how often ordinary notes are touched:
#
#   internal/text/secret/examples.sh VERSION NOTES     NOTES: a folder of Markdown files
#
# The examples are made by the generator of rules of that release of gitleaks, such as v8.30.0.
set -euo pipefail
version=${1:?a release of gitleaks, such as v8.30.0}
notes=$(cd "${2:?a folder of Markdown files}" && pwd)
cd "$(dirname "$0")/../../.."
scratch=$(mktemp -d)
trap 'chmod -R u+w "$scratch"; rm -rf "$scratch"' EXIT
cp -r "$(go mod download -json "github.com/zricethezav/gitleaks/v8@$version" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')/." "$scratch"
chmod -R u+w "$scratch"
cat >"$scratch/cmd/generate/config/utils/validate.go" <<'GO'
package utils

import (
	"encoding/json"
	"maps"
	"os"
	"slices"

	"github.com/zricethezav/gitleaks/v8/config"
)

func note(rule config.Rule, yes, no []string) *config.Rule {
	file, err := os.OpenFile(os.Getenv("EXAMPLES"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	if err := json.NewEncoder(file).Encode(map[string]any{"rule": rule.RuleID, "secrets": yes, "others": no}); err != nil {
		panic(err)
	}
	return &rule
}

func Validate(rule config.Rule, yes, no []string) *config.Rule { return note(rule, yes, no) }

func ValidateWithPaths(rule config.Rule, yes, no map[string]string) *config.Rule {
	return note(rule, slices.Collect(maps.Values(yes)), slices.Collect(maps.Values(no)))
}
GO
(cd "$scratch/cmd/generate/config" && EXAMPLES="$scratch/examples.jsonl" go run . "$scratch/rules.toml")
MEMCORE_SECRET_EXAMPLES="$scratch/examples.jsonl" MEMCORE_SECRET_NOTES="$notes" go test -count=1 ./internal/text/secret -run TestExamples -v
