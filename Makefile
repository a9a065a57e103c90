# What the project can do. Nothing here needs root, and only go has to be installed; for LanceDB also
# what store/lancedb/native/library.sh names.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

FUZZTIME ?= 60s
BENCHTIME ?= 200ms
PACKAGES ?= ./...
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.7.0
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.1.4

# The engine of make demo: flat, or lancedb, which needs its native library.
ENGINE ?= flat

.PHONY: help build demo test gate lint nightly lancedb release coverage fuzz bench lab service clean

help: ## list these targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | while IFS=$$'\t' read -r name text; do printf '  %-20s %s\n' "$$name" "$$text"; done

build: ## build bin/memcore
	@.ci/build bin/memcore

lancedb: ## build bin/memcore with LanceDB; its native library takes long the first time
	flags=$$(store/lancedb/native/library.sh --flags); \
	CGO_ENABLED=1 CGO_LDFLAGS="$$flags" go build -trimpath -ldflags=-s -tags lancedb -o bin/memcore ./cmd/memcore

lab: ## list the targets of the lab, which is a module for developers: make -C lab TARGET
	@$(MAKE) -s -C lab help

service: ## list the targets of the service, which is a module of its own: make -C service TARGET
	@$(MAKE) -s -C service help

release: ## memcore for six systems, and with LanceDB for this one, in dist/release: archives, deb, rpm, checksums (PLATFORMS="linux/amd64 lancedb": only these); signed with MEMCORE_SIGNING_KEY
	rm -rf dist/release
	.ci/release dist/release $(PLATFORMS)
	.ci/pack dist/release

demo: $(if $(filter lancedb,$(ENGINE)),lancedb,build) ## index testdata/workspace, ask questions, inject into one request (ENGINE=lancedb)
	MEMCORE_DEMO_ENGINE=$(ENGINE) testdata/demo.sh bin/memcore

test: ## all tests of the product; those of LanceDB need a C compiler and Rust, and build its library once
	.ci/test

coverage: ## share of the statements that tests run, by package and of the whole; fails under its bounds (PROFILE=file keeps the profile)
	PROFILE=$(PROFILE) .ci/coverage

gate: build ## questions to testdata/workspace, prompts of testdata/eval/turns and said, ordinary ones: fails if answers are worse than the baselines in testdata/eval
	.ci/gate bin/memcore

bench: ## all Go benchmarks, short (BENCHTIME=200ms PACKAGES=./...)
	go test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) -timeout 60m $(PACKAGES)

fuzz: ## every fuzz target, two at a time (FUZZTIME=60s PACKAGES=./...)
	FUZZTIME=$(FUZZTIME) .ci/fuzz $(PACKAGES)

nightly: ## all that takes too long for each change, one after another: hours
	.ci/nightly

lint: ## gofmt, vet for three systems, staticcheck, govulncheck
	@badly=$$(gofmt -l $$(git ls-files '*.go')); \
	test -z "$$badly" || { echo "gofmt would change:"; echo "$$badly"; exit 1; } >&2
	go vet ./...
	CGO_ENABLED=0 GOOS=darwin go vet ./...
	CGO_ENABLED=0 GOOS=windows go vet ./...
	go run $(STATICCHECK) ./...
	go -C lab vet ./...
	$(MAKE) -C service lint
	@if [ "$$(go env CGO_ENABLED)" = 1 ]; then echo "vet and staticcheck with LanceDB"; go vet -tags lancedb ./... && go run $(STATICCHECK) -tags lancedb ./...; \
	else echo "lint: LanceDB SKIPPED: there is no C compiler" >&2; fi
	@if curl -fsS -m 20 -o /dev/null https://vuln.go.dev/index/db.json 2>/dev/null; then \
	  echo "govulncheck ./..."; go run $(GOVULNCHECK) ./...; \
	else \
	  { echo "=================================================================="; \
	    echo "lint: govulncheck SKIPPED: its database at vuln.go.dev does not answer."; \
	    echo "Vulnerabilities of dependencies were NOT looked up. What was known of them"; \
	    echo "when somebody last looked is in docs/dev/dependencies.md; TestAdvisories holds it."; \
	    echo "=================================================================="; } >&2; \
	fi

clean: ## remove what make made
	rm -rf bin dist
