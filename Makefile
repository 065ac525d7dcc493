# `make help` lists the targets.

.DEFAULT_GOAL := help
.PHONY: help run build bundle watch test test-fast check format fuzz history-oracle faults fleet-demo fleet-test soak asan-test mutate-native config layers graphql openapi languages bench bench-quick deb deb-test systemd-test image image-test arm64-test release test-debian12 test-debian13 clean node install nodegit package-tools kernel typescript web web-tests client
MAKEFLAGS += --no-print-directory

# Native packages are compiled from source (scripts/compile-native.mjs). By default node-gyp uses one core. With ccache a second build
# takes seconds, even in another checkout, because paths are relative to its root. If the headers of the running Node are
# installed, nothing is downloaded.
export JOBS ?= max
export CCACHE_BASEDIR ?= $(CURDIR)
export CCACHE_NOHASHDIR ?= true
# Install scripts are not run. If one is by hand, those of re2 and nodegit would otherwise download binaries that nobody verifies
# (scripts/check-compiled.mjs).
export DEVELOPMENT_SKIP_GETTING_ASSET := 1
export BUILD_ONLY := 1
node_prefix := $(shell node -p 'require("path").dirname(require("path").dirname(process.execPath))' 2>/dev/null)
node_headers := $(firstword $(foreach prefix,$(node_prefix) /usr,$(if $(wildcard $(prefix)/include/node/node.h),$(prefix))))
ifneq ($(node_headers),)
export npm_config_nodedir := $(node_headers)
endif

client_sources := $(shell find clients/trawl-client/src -name '*.ts' 2>/dev/null) clients/trawl-client/tsconfig.json
sources := $(shell find src test scripts native-bench -path src/web -prune -o -name '*.ts' -print 2>/dev/null) $(client_sources) tsconfig.json
# The pages share modules with the daemon, such as the scanner of queries.
web_sources := $(shell find src/web src/query src/model src/base src/regexp -type f 2>/dev/null) src/graphql/schema.graphql config/trawl.schema.json docs/query-syntax.md scripts/build-web.mjs scripts/query-help.mjs scripts/schema-overview.mjs
kernel_sources := $(shell find src/native -path src/native/build -prune -o \( -name '*.cc' -o -name '*.h' -o -name binding.gyp \) -print 2>/dev/null)
kernel := src/native/build/Release/trawl_kernel.node

help:
	@echo "make run              build, start trawld on 127.0.0.1:7080 with its data under data/, serve this checkout"
	@echo "make run REPO=URL     the same for the given repository: a path or a URL"
	@echo "make run CONFIG=FILE  the same with a configuration file, such as config/trawl.jsonc"
	@echo "make bundle           build, and bundle the program, which starts in a third of the time; make run and make deb do it"
	@echo "make build            install the packages in the lockfile, compile the kernel, the TypeScript and the web pages"
	@echo "make web              build only the web pages, in src/web"
	@echo "make test             build and run all tests; make test TESTS=http-sse runs one file"
	@echo "make test-fast        only the tests that start no daemon and no browser, under a minute"
	@echo "make watch            compile each change of a TypeScript file of the daemon and the tests at once, until interrupted"
	@echo "make check            types, format, lint and house rules"
	@echo "make format           format all files, and correct what the linter can"
	@echo "make layers           regenerate the table of folders in ARCHITECTURE.md from scripts/layers.ts"
	@echo "make fuzz             fuzz each parser for half a minute; TARGET=name, INPUTS=N, SEED=N"
	@echo "make asan-test        tests and fuzz targets of native code with address and undefined-behaviour sanitizers; SECONDS=180"
	@echo "make mutate-native    a test fails without each bound that native code checks; FILTER=pack-file"
	@echo "make history-oracle   searches of the histories of REPOS=\"PATH...\" equal git's; QUERIES=N, SEED=N, COMMITS=N"
	@echo "make faults           fault-injection tests with large counts; TESTS=, FAULTS=0.1, MINUTES=5"
	@echo "make fleet-demo       three nodes with one index on this machine: a search, a killed node, a complete answer; needs PostgreSQL"
	@echo "make fleet-test       three nodes in network namespaces of their own: answers, failovers, cost, in a few minutes; needs root; ONLY=hop"
	@echo "make soak             an hour with one commit per second; MINUTES=5"
	@echo "make config           regenerate config/ from src/daemon/config/options.ts"
	@echo "make graphql          regenerate the types of the schema and of the operations of src/web from schema.graphql"
	@echo "make client           compile the package clients/trawl-client, for npm pack"
	@echo "make openapi          regenerate docs/openapi.json and the types of clients/trawl-client from src/http/api"
	@echo "make languages        regenerate src/model/languages.tsv from the package linguist-languages"
	@echo "make bench            compare everything with other tools, an hour and a half; ARGS='--only peers' for one suite"
	@echo "make bench-quick      a subset on the files of this checkout, three minutes"
	@echo "make deb              a Debian package and a tarball in build/, with only the files needed at run time; VERSION=X"
	@echo "make deb ARCH=arm64   the same for arm64, cross-compiled on amd64 for Debian 13 and Node 24"
	@echo "make deb-test         install, use, upgrade, roll back and remove it in a clean Debian root; SUITE=trixie, ROOT=DIR"
	@echo "make systemd-test     run its unit under a real systemd in a clean Debian root; SUITE=trixie, ROOT=DIR"
	@echo "make image            the container image in build/, built on Debian 13 with Node 24; CCACHE=DIR"
	@echo "make image-test       start it with a read-only root: without a volume, and with one to a search"
	@echo "make arm64-test       install the package for arm64, use it, and run tests of its native code, under emulation; ROOT=DIR"
	@echo "make release          what a release consists of, in build/: packages, tarballs, image, bill of materials, client, checksums"
	@echo "make test-debian13    from nothing to a search, the whole suite, deb-test and systemd-test in a clean Debian 13 root with Node 24; ROOT=DIR"
	@echo "make test-debian12    the same in a Debian 12 root with Node 20"
	@echo "make clean            delete build output; node_modules and data are kept"

run: bundle
	@exec node scripts/run.mjs --data data $(if $(CONFIG),--config $(CONFIG),--repository "$(or $(REPO),trawl=$(CURDIR))")

build: install kernel typescript web web-tests client

node:
	@node bin/node-version.mjs || { command -v node >/dev/null || echo "node is not installed: install Node 20, 22 or 24, see README.md"; exit 1; }

# What was installed is recorded, with the ABI for which native packages were compiled (scripts/install.mjs).
install: node
	@node scripts/install.mjs

# One check of `trawl check` uses it, if it is there (docs/decisions/0029-libgit2-checks-references.md); compiling it takes most of
# the time of all packages.
nodegit: install
	@if bash scripts/debian-packages.sh nodegit; then node scripts/compile-native.mjs nodegit; else echo "Going on without nodegit, which is optional"; fi

kernel: $(kernel)

$(kernel): $(kernel_sources) | install
	@node scripts/compile-native.mjs kernel
	@touch $@

typescript: dist/.built

# Otherwise the tests would still find the output of deleted source files.
dist/.built: $(sources) | install
	@echo "Compiling TypeScript"
	@node_modules/.bin/tsc
	@find dist -name '*.js' | while read -r file; do \
	  case "$$file" in dist/web/*) continue;; esac; source="$${file#dist/}"; [ -e "$${source%.js}.ts" ] || rm -f "$$file" "$$file.map"; done
	@touch $@

web: dist/web/.built

# Only what has changed is compiled again, in two to eight seconds; the kernel and the web pages have targets of their own.
watch: install kernel
	@node_modules/.bin/tsc --watch --preserveWatchOutput

dist/web/.built: $(web_sources) src/web/tsconfig.json | install
	@echo "Building the web pages"
	@node_modules/.bin/tsc -p src/web && node scripts/build-web.mjs
	@touch $@

# The unit tests of the pages are bundled like the pages, whose modules they import.
web-tests: dist/test/unit/web/.built

dist/test/unit/web/.built: $(web_sources) $(wildcard test/unit/web/*) scripts/build-web-tests.mjs | install typescript
	@node_modules/.bin/tsc -p test/unit/web && node scripts/build-web-tests.mjs
	@touch $@

client: clients/trawl-client/dist/index.js

# The package that `npm pack` makes of clients/trawl-client. Tests import its modules as they are compiled with the others.
clients/trawl-client/dist/index.js: $(client_sources) LICENSE | install
	@rm -rf clients/trawl-client/dist && node_modules/.bin/tsc -p clients/trawl-client && cp LICENSE clients/trawl-client/
	@touch $@

# A start from the bundle takes a third of the processor time. Loading modules one by one is enough for a single test.
bundle: install kernel typescript web
	@node scripts/bundle.mjs

# Without a terminal, tap's progress display is unreadable. The browser is only needed by the tests in test/web. A run of all
# tests starts its daemons from a bundle; with TESTS, the compiled modules are started as they are.
test: check $(if $(TESTS),,nodegit)
	@bash scripts/debian-packages.sh browser || true
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || \
	  echo "Without PostgreSQL (apt-get install postgresql), the tests of the database that nodes share are skipped."
	@mkdir -p .tap && rm -f .tap/out.tap
	@files=; for name in $(TESTS); do \
	  found=$$(find dist/test \( -path "*/$$name.test.js" -o -path "*/$${name%/}/*.test.js" \) | sort); \
	  [ -n "$$found" ] || { echo "no test and no folder under test/ is named $$name"; exit 2; }; files="$$files $$found"; done; \
	$(if $(TESTS),,node scripts/bundle.mjs && export TRAWL_BUNDLE="$(CURDIR)/dist/bundle" &&) \
	$(run_tests)

test-fast: build
	@mkdir -p .tap && rm -f .tap/out.tap
	@files=--fast; $(run_tests)

run_tests = reporter=min; if [ -t 1 ]; then reporter=terse; fi; \
	node scripts/run-tests.mjs $$files | tee .tap/out.tap | node_modules/.bin/tap --timeout=0 --reporter=$$reporter -; code=$$?; echo; \
	node scripts/tap-summary.mjs .tap/out.tap $$code | tee .tap/summary; exit $$code

check: build
	@node scripts/check-compiled.mjs
	@node_modules/.bin/biome check --error-on-warnings --log-level=warn || { echo "run make format to fix the format"; exit 1; }
	@mkdir -p .tap
	@node dist/test/house/tidy.test.js >.tap/tidy.tap || { grep -A12 "^ *not ok" .tap/tidy.tap; exit 1; }
	@echo "types and house rules: good"

format: install
	@node_modules/.bin/biome check --write

fuzz: build
	@TARGET=$(TARGET) SEED=$(SEED) INPUTS=$(INPUTS) SECONDS=$(SECONDS) node dist/test/fuzz/main.js
	@mkdir -p .tap; $(if $(TARGET),,for name in $(oracles); do echo "$$name, with random cases"; \
	  FAULTS=0.05 SEED=$(or $(SEED),random) TAP_TIMEOUT=3600 node dist/test/unit/$$name.test.js >.tap/oracle.tap || \
	  { grep -A30 "^ *not ok" .tap/oracle.tap; exit 1; }; done)

# Properties of which `make test` tries few cases: `make fuzz` tries sixty times as many.
oracles = $(patsubst test/unit/%.test.ts,%,$(shell grep -rlE 'support/(property|kernel-support)\.js' test/unit --include='*.test.ts'))

asan-test: build
	@node scripts/native-checks.mjs asan $(SECONDS)

mutate-native: build
	@node scripts/native-checks.mjs mutate $(FILTER)

history-oracle: build
	@REPOS="$(REPOS)" QUERIES=$(QUERIES) SEED=$(SEED) COMMITS=$(COMMITS) node dist/test/oracle/main.js

faults: build
	@TESTS="$(TESTS)" FAULTS="$(or $(FAULTS),1)" MINUTES="$(MINUTES)" node dist/test/faults/main.js

fleet-demo: bundle
	@TAP_TIMEOUT=3600 node dist/test/fleet/demo.js

fleet-test: build
	@ONLY="$(ONLY)" node dist/test/fleet/main.js

soak: build
	@TESTS=fault-soak FAULTS=1 MINUTES="$(MINUTES)" node dist/test/faults/main.js

config: build
	@node dist/scripts/write-config.js

layers: build
	@node dist/scripts/write-layers.js

graphql: build
	@node dist/scripts/write-graphql-types.js

openapi: build
	@node dist/scripts/write-openapi.js

languages: build
	@node dist/scripts/write-languages.js

bench: bundle
	@bin/trawl-bench all $(ARGS)

bench-quick: bundle
	@bin/trawl-bench quick $(ARGS)

# First, because what is missing is known before minutes of compiling.
package-tools:
	@bash scripts/debian-packages.sh package $(cross)
	@node scripts/cross-build.mjs $(arch_option) tools

version = $(or $(VERSION),$(shell node -p 'require("./package.json").version'))
# ARCH is another processor than this one, with Debian's name (scripts/target.mjs).
cross = $(filter-out $(shell dpkg --print-architecture 2>/dev/null),$(ARCH))
arch_option = $(if $(cross),--arch=$(cross))
deb_file = build/trawl_$(version)_$(or $(cross),$(shell dpkg --print-architecture)).deb

deb: package-tools bundle $(if $(cross),,nodegit)
	@node scripts/cross-build.mjs $(arch_option)
	@node scripts/package.mjs $(arch_option) build $(VERSION)

deb-test: deb
	@scripts/deb-test.sh $(deb_file) $(or $(SUITE),bookworm) $(ROOT)

systemd-test: deb
	@scripts/systemd-test.sh $(deb_file) $(or $(SUITE),bookworm) $(ROOT)

image: node
	@scripts/image.sh build $(version)

image-test:
	@scripts/image-test.sh $(version)

arm64-test:
	@scripts/arm64-test.sh tools
	@$(MAKE) deb ARCH=arm64
	@scripts/arm64-test.sh build/trawl_$(version)_arm64.deb $(ROOT)

release:
	@scripts/release.sh

test-debian13:
	@scripts/root-test.sh trixie 24 $(ROOT)

test-debian12:
	@scripts/root-test.sh bookworm 20 $(ROOT)

clean:
	rm -rf build dist .tap src/native/build clients/*/dist
