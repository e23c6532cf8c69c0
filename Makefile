# Run make without a target to see what there is.

SHELL       := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

GO       ?= go
GOLANGCI ?= golangci-lint
REDOCLY  ?= npx --yes @redocly/cli@2.77.0
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

# Further flags for go test, such as -v or -run.
TESTFLAGS ?=
# How long each fuzz target runs: a duration, or a count such as 100000x.
FUZZTIME  ?= 30s

# The race detector is the one thing here that needs cgo.
RACE := CGO_ENABLED=1 $(GO) test -race -shuffle=on

.PHONY: help setup build run test test-all prove mutants cover bench fuzz lint openapi-lint clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## prepare a fresh machine: modules, and the programs that the tests call
	@missing=; for p in gcc:build-essential jq:jq curl:curl nginx:nginx-light strace:strace unshare:util-linux sqlite3:sqlite3; do \
		command -v "$${p%%:*}" >/dev/null || missing="$$missing $${p#*:}"; done; \
	if [ -n "$$missing" ]; then \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing; \
		else echo "please install:$$missing" >&2; exit 1; fi; fi
	$(GO) mod download
	@echo 'ready: "go run ./cmd/octostore" starts the server, "make test-all" runs the tests'

build: ## build the static binaries into bin/
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/ ./cmd/...

run: build ## build and start the server (its settings are environment variables)
	./bin/octostore

test: ## the quick tests, while working
	$(RACE) -short $(TESTFLAGS) ./...

test-all: ## every test, as CI runs them
	$(RACE) -count=1 $(TESTFLAGS) ./...

prove: ## histories under kills at their whole size, up to 10 minutes (OCTOSTORE_SEED=n repeats a plan)
	@mkdir -p bin
	OCTOSTORE_PROVE=1 $(GO) test -count=1 -v -timeout 60m -artifacts -outputdir $(CURDIR)/bin $(TESTFLAGS) ./internal/histories

mutants: ## show that the tests notice known-wrong rules, and which test notices which
	$(GO) test -count=1 -v $(TESTFLAGS) ./internal/mutants | grep -vE '^ *=== (RUN|PAUSE|CONT|NAME) '

cover: ## every test, and the covered lines in bin/coverage.html
	@mkdir -p bin
	$(RACE) -count=1 -coverpkg=./... -coverprofile=bin/coverage.out $(TESTFLAGS) ./...
	$(GO) tool cover -html=bin/coverage.out -o bin/coverage.html
	$(GO) tool cover -func=bin/coverage.out | tail -n 1

bench: ## compare with etcd, Redis and the HTTP limit: 10 minutes; BENCHFLAGS=-quick takes one
	@mkdir -p bin
	cd bench && CGO_ENABLED=0 $(GO) build -o ../bin/bench . && ../bin/bench -json ../bin/bench.json $(BENCHFLAGS)

# Go before 1.27 now and then fails a target at the end of its time with "context
# deadline exceeded" and nothing found (golang/go#75804). That, and no other failure,
# counts as the end of the time that it is.
fuzz: ## each fuzz target for FUZZTIME (30s)
	@targets=$$(grep -rEo --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' . | sort) || { echo 'no fuzz target found'; exit 1; }; \
	log=$$(mktemp); trap 'rm -f "$$log"' EXIT; \
	while IFS=: read -r file name; do \
		name=$${name#func }; \
		echo "== $$(dirname "$$file") $$name"; \
		if ! (cd "$$(dirname "$$file")" && $(GO) test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) .) </dev/null >"$$log" 2>&1; then \
			if grep -qE '^ +context deadline exceeded$$' "$$log" && ! grep -qE 'Failing input written|^panic|_test\.go:[0-9]+:' "$$log"; then \
				echo 'ended at its deadline'; \
			else \
				cat "$$log"; exit 1; \
			fi; \
		fi; \
		grep -E '^(fuzz: elapsed|ok )' "$$log" | tail -n 2; \
	done <<<"$$targets"

lint: ## go vet, the linters and the formatting
	$(GO) vet ./...
	$(GOLANGCI) run --allow-parallel-runners ./...

openapi-lint: ## check api/openapi.yaml (needs Node)
	REDOCLY_TELEMETRY=off $(REDOCLY) lint --config api/redocly.yaml api/openapi.yaml

clean: ## remove what was built
	rm -rf bin
