# Everything a developer or CI does, as short commands; `make` alone lists them. Fixing and checking are separate targets.
SHELL := /bin/bash
BIN := node_modules/.bin
STAMP := node_modules/.installed
JEST := node --no-warnings node_modules/jest/bin/jest.js
NODE_OK := var v = process.versions.node.split("."); process.exit(v[0] > 20 || (v[0] == 20 && v[1] >= 19) ? 0 : 1)

.DEFAULT_GOAL := help
.PHONY: help node setup build run test test-deep test-busy test-nodes test-infra mutate check ci lint types fmt fmt-check arch dead docs docs-check reproducible bench bench-decide bench-policy bench-query bench-sizes bench-commands bench-swap bench-smoke bench-counts clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

node:
	@command -v node >/dev/null || { echo "Node.js 20.19 or later is needed and was not found: https://nodejs.org" >&2; exit 1; }
	@node -e '$(NODE_OK)' || { echo "Node.js 20.19 or later is needed; this is $$(node --version)" >&2; exit 1; }

setup: $(STAMP) ## install what the lockfile names (only when it changed)

$(STAMP): package.json package-lock.json .npmrc | node
	npm ci
	@touch $@

build: setup ## compile everything to dist/
	$(BIN)/tsc -b
	node server/console/build.mjs && node server/cli/bundle.mjs
	@$(MAKE) -s dist/declarations.tsbuildinfo

# The JavaScript has no comments, a seventh of the package; these declarations have theirs, which editors show.
dist/declarations.tsbuildinfo: tsconfig.declarations.json $(shell find engine server -name '*.ts')
	$(BIN)/tsc -p tsconfig.declarations.json
	@touch $@

run: setup ## the whole product with demo data: compile, store, load, keys, serve (ARGS="--listen 127.0.0.1:9000")
	@$(BIN)/tsc -b engine server
	@node server/cli/bundle.mjs
	@node fixtures/demo/run.mjs $(ARGS)

test: build ## the whole suite (ARGS=pattern for a part of it)
	@mkdir -p .run
	$(JEST) --json --outputFile=.run/jest.json $(ARGS)

test-deep: export BAILIWICK_TEST_DEPTH := deep
test-deep: export BAILIWICK_TEST_SEED ?= $(shell date -u +%Y%m%d)
test-deep: build ## the suite with every property at full count, from a seed by date (BAILIWICK_TEST_SEED=n for another)
	@mkdir -p .run
	@echo "again: make test-deep BAILIWICK_TEST_SEED=$$BAILIWICK_TEST_SEED"
	$(JEST) --json --outputFile=.run/jest-deep.json $(ARGS)

test-busy: build ## `make test` three times beside twice as many busy loops as cores (ARGS="1 pattern" for one run of a part)
	@.ci/busy.sh $(ARGS)

test-nodes: build ## `make run` and a short suite on other lines of Node, installed from npm into .run/
	@node .ci/nodes.mjs

test-infra: build ## the real programs around a gateway: proxies, PostgreSQL, Prometheus; apt installs what is missing (ARGS="nginx" for some)
	@node .ci/infra/run.mjs $(ARGS)

mutate: build ## change the compiled code in small ways and tell which changes no test notices (ARGS="engine/evaluate --minutes 20")
	@node .ci/mutate/run.mjs $(ARGS)

check: fmt-check lint types arch dead docs-check ## everything but the tests

ci: check test test-nodes reproducible bench-smoke ## what CI runs: check, test, other lines of Node, the proof that compiles are reproducible, every bench once

reproducible: build ## compile policies/ in other places, times and languages: always the same bytes
	@node .ci/reproducible.mjs

bench: build bench/decisions/node_modules ## every bench at a modest size, and one page: each goal, figure and limit (ARGS="swaps queries" for some)
	@node bench/all.mjs $(ARGS)

bench-decide: build bench/decisions/node_modules ## decisions a second beside casbin, CASL and Cedar (ARGS="--million" for 1,000,000 grants too)
	@node bench/decisions/measure.mjs $(ARGS)

bench/decisions/node_modules: bench/decisions/package-lock.json
	npm ci --prefix bench/decisions
	@touch $@

bench-policy: build ## time and memory of policies with 100,000 grants (ARGS="--million" for 1,000,000 too)
	@node bench/policies/measure.mjs $(ARGS)

bench-query: build ## pages and counts of a million records beside row-level security and joins (ARGS="--records 10000000")
	@node bench/queries/measure.mjs $(ARGS)

bench-sizes: build ## one PostgreSQL at 1, 3 and 10 million records: load, bytes by index, times before and after a day of writes (ARGS="--records 20000,60000,200000")
	@node bench/queries/sizes.mjs $(ARGS)

bench-commands: build ## writes a second beside the bare statements, on both stores (ARGS="--rounds 15")
	@node bench/commands/measure.mjs $(ARGS)

bench-swap: build ## swaps of the policy: pause, time, memory; gateways of 1, 2 and more processes beside bare Express (ARGS="--grants 1000000")
	@node bench/swaps/measure.mjs $(ARGS)

bench-smoke: build ## every bench at sizes that say nothing: that it comes to its end, and every figure is a number (ARGS="queries" for some)
	@node bench/all.mjs --smoke $(ARGS)

bench-counts: build ## count what `make test` compares with bench/counts.json, and write there what differs
	@node bench/counts/measure.mjs --record $(ARGS)

lint: setup ## ESLint with types, no warnings
	$(BIN)/eslint --max-warnings 0 --concurrency auto .

types: build ## type-check (the compiler emits nothing for what does not)

fmt: setup ## format in place
	$(BIN)/prettier --write --log-level warn .

fmt-check: setup ## refuse what `make fmt` would change
	$(BIN)/prettier --check --log-level warn .

arch: build ## import directions, cycles, sizes, casts, words, lockfile
	$(JEST) architecture

dead: setup ## unused files, exports and dependencies, also what tests alone use
	$(BIN)/knip && $(BIN)/knip --production

docs: build ## write what is generated: the pages of diagnostic codes, what commands print, the editor schemas
	node dist/server/bin/bailiwick.js codes --format markdown > engine/docs/diagnostics.md
	node fixtures/examples/write.mjs && node dist/server/bin/bailiwick.js config example > server/docs/bailiwick.example.yaml
	for kind in policy sections; do node dist/server/bin/bailiwick.js schema $$kind > policies/.schema/$$kind.json; done

docs-check: build ## refuse what `make docs` would change
	$(JEST) docs.test

clean: ## remove what was built; the demo data in .bailiwick/ stays
	rm -rf dist .run coverage
