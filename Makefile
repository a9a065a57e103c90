# What the project can do. Nothing here needs root, and only go has to be installed; for LanceDB also
# what store/lancedb/native/library.sh names.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

FUZZTIME ?= 60s
BENCHTIME ?= 200ms
PACKAGES ?= ./...
ROUNDS ?= 7
SIZES ?= 1000,10000,100000
LOAD ?= 5m
CHUNKS ?= 10000
UPDATES ?= 5000
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.7.0
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.1.4

# The engine of make demo: flat, or lancedb, which needs its native library.
ENGINE ?= flat

.PHONY: help build lancedb service dist release packages reproducible sbom notices model-e5 demo test coverage gate test-servers bench bench-embed bench-embed-quality bench-daemon bench-engines eval fit static-files view-shots fuzz torture nightly lint clean

help: ## list these targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | while IFS=$$'\t' read -r name text; do printf '  %-20s %s\n' "$$name" "$$text"; done

build: ## build bin/memcore
	@.ci/build bin/memcore

lancedb: ## build bin/memcore with LanceDB; its native library takes long the first time
	flags=$$(store/lancedb/native/library.sh --flags); \
	CGO_ENABLED=1 CGO_LDFLAGS="$$flags" go build -trimpath -ldflags=-s -tags lancedb -o bin/memcore ./cmd/memcore

service: ## list the targets of the service, which is a module of its own: make -C service TARGET
	@$(MAKE) -s -C service help

dist: ## a folder and a tarball in dist/ with memcore, LanceDB and its library, to run from anywhere (E5=1: and the model for many languages)
	E5=$(E5) store/lancedb/native/dist.sh

release: ## memcore without LanceDB for six systems in dist/release: archives, deb, rpm, checksums; signed with MEMCORE_SIGNING_KEY
	rm -rf dist/release
	.ci/release dist/release
	.ci/pack dist/release

packages: ## of the archives in dist/release: npm, MCP bundles, plugins, Homebrew, Scoop, OCI image, in dist/packages
	rm -rf dist/packages
	go -C lab run ./plugins -release "$(abspath dist/release)" -out "$(abspath dist/packages)"

reproducible: ## build the commit twice, as differently as one machine can, and compare all bytes
	.ci/reproducible

sbom: build ## bill of materials of bin/memcore, CycloneDX as JSON: bin/memcore.cdx.json
	go -C lab/release run . sbom "$(abspath bin/memcore)" >"$(abspath bin/memcore.cdx.json)"

notices: build ## licences of all that is linked into bin/memcore: bin/THIRD_PARTY_NOTICES
	go -C lab/release run . notices "$(abspath bin/memcore)" >"$(abspath bin/THIRD_PARTY_NOTICES)"

model-e5: ## the pack of multilingual-e5-small, in the cache; prints its path
	@.ci/model-e5

demo: $(if $(filter lancedb,$(ENGINE)),lancedb,build) ## index testdata/workspace, ask questions, inject into one request (ENGINE=lancedb)
	MEMCORE_DEMO_ENGINE=$(ENGINE) testdata/demo.sh bin/memcore

test: ## all tests of the product; those of LanceDB need a C compiler and Rust, and build its library once
	.ci/test

coverage: ## share of the statements that tests run, by package and of the whole (PROFILE=file keeps the profile)
	PROFILE=$(PROFILE) .ci/coverage

gate: build ## questions to testdata/workspace, prompts of testdata/eval/turns: fails if answers are worse than the baselines in testdata/eval
	.ci/gate bin/memcore

test-servers: ## tests against a real Ollama server, made on first use
	.ci/servers

bench: ## all Go benchmarks, short (BENCHTIME=200ms PACKAGES=./...)
	go test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) -timeout 60m $(PACKAGES)

bench-embed: ## the built-in embedder beside ONNX Runtime, hugot and Ollama; then indexing (ROUNDS=7)
	lab/bench/embed/run.sh speed -rounds $(ROUNDS)
	lab/bench/embed/run.sh index

bench-embed-quality: ## its vectors beside those of the published weights in f32; DATA=folder with locomo/, or none
	lab/bench/embed/run.sh quality $(if $(DATA),-data "$(abspath $(DATA))")

eval: ## retrieval on labelled data beside other ways, what evidence is worth, thresholds: bin/relevance; DATA=folder of the sets
	@test -n "$(DATA)" || { echo 'eval: DATA is empty, want the folder of the data sets that docs/dev/relevance.md names: make eval DATA=…' >&2; exit 2; }
	go -C lab build -o ../bin/relevancebench ./bench/relevance
	bin/relevancebench -data "$(abspath $(DATA))" -small-talk testdata/eval/smalltalk.txt -out bin/relevance

fit: ## fit the relevance models that memcore ships anew; DATA=folder of the sets
	@test -n "$(DATA)" || { echo 'fit: DATA is empty, want the folder of the data sets that .ci/fit names: make fit DATA=…' >&2; exit 2; }
	.ci/fit "$(abspath $(DATA))"

static-files: ## what is in real memory files, read as curated memory; DATA=folder of .md and .mdc files
	@test -n "$(DATA)" || { echo 'static-files: DATA is empty, want a folder of memory files: make static-files DATA=…' >&2; exit 2; }
	MEMCORE_MEMORY_FILES="$(abspath $(DATA))" go test -count=1 -run TestRealFiles -v ./core/curated

view-shots: build ## screenshots of memcore view in bin/shots, and the pictures of docs; needs Chromium
	mkdir -p bin/shots; cd lab/browser; CI=true MEMCORE="$(abspath bin/memcore)" MEMCORE_SHOTS="$(abspath bin/shots)" \
	  MEMCORE_PICTURES="$(abspath docs)" go test -count=1 -skip "HostileText|OtherSites|ManyChunks" ./...

bench-daemon: build ## hooks and the daemon as processes (LOAD=5m CHUNKS=10000)
	go -C lab run ./bench/daemon -memcore "$(abspath bin/memcore)" -for $(LOAD) -chunks $(CHUNKS) -out "$(abspath docs)"

bench-engines: ## engines side by side, with LanceDB and a peer (SIZES=1000,10000,100000 UPDATES=5000)
	flags=$$(store/lancedb/native/library.sh --flags); \
	CGO_ENABLED=1 CGO_LDFLAGS="$$flags" go -C lab build -tags lancedb -o ../bin/enginebench ./bench/engine; \
	bin/enginebench -sizes $(SIZES) -updates $(UPDATES)

fuzz: ## every fuzz target, two at a time (FUZZTIME=60s PACKAGES=./...)
	FUZZTIME=$(FUZZTIME) .ci/fuzz $(PACKAGES)

torture: ## all attacks in their long form: hours
	.ci/torture

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
