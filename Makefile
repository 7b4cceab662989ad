# A thin front: CMake does the work, and each target here is a line or two that one can as well type.

JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 10
PREFIX ?= /usr/local
CTEST = ctest --output-on-failure -j $(JOBS)
# $(call configure,PRESET[,ARGUMENTS]): talks only when it fails.
configure = mkdir -p build && { cmake --preset $(1) $(2) >build/configure.log 2>&1 || { cat build/configure.log; exit 1; }; }

.PHONY: all build check demo install lint stats asan asan-gcc tsan valgrind coverage fuzz-short bench tidy analyze ci deep \
	deps deps-build deps-ci format clean

all: build

build: deps-build
	@$(call configure,release,-DCMAKE_INSTALL_PREFIX=$(PREFIX))
	@cmake --build --preset release -j $(JOBS)

# Everything a fresh Debian 12 lacks, the programs, all tests.
check: deps
	@$(call configure,dev)
	@cmake --build --preset dev -j $(JOBS)
	@$(CTEST) --preset dev

demo: build
	@tests/demo/demo.sh build/release/bin/paddock

install: build
	@cmake --install build/release

lint: deps
	@$(call configure,dev)
	@cmake --build --preset dev --target headers_alone -j $(JOBS)
	@$(CTEST) --preset dev -L lint

stats:
	@tests/lint/stats

asan: deps-ci
	@$(call configure,$@) && cmake --build --preset $@ -j $(JOBS)
	@$(CTEST) --preset $@ -LE lint

# The second compiler's sanitizer, over the libraries alone: whole programs would take as long again as asan does.
asan-gcc: deps-ci
	@$(call configure,$@) && cmake --build --preset $@ -j $(JOBS)
	@$(CTEST) --preset $@ -L 'unit|contract|property|fuzz'

# What runs on threads is in the libraries: the whole programs are left to asan.
tsan: deps-ci
	@$(call configure,$@) && cmake --build --preset $@ -j $(JOBS)
	@$(CTEST) --preset $@ -L 'unit|contract|fuzz'

valgrind: deps-ci
	@$(call configure,dev) && cmake --build --preset dev -j $(JOBS)
	@scripts/valgrind build/dev

coverage: deps-ci
	@$(call configure,coverage) && cmake --build --preset coverage -j $(JOBS)
	@find build/coverage -name '*.gcda' -delete
	@$(CTEST) --preset coverage -LE lint
	@gcovr --root . --exclude tests/ --exclude build/ --exclude bench/ --exclude-unreachable-branches \
		--fail-under-line 85 --sort-uncovered build/coverage

fuzz-short: deps-ci
	@$(call configure,fuzz) && cmake --build --preset fuzz -j $(JOBS)
	@scripts/fuzz $(FUZZ_SECONDS)

bench: build
	@cmake --build --preset release --target bench -j $(JOBS)
	@bench/run build/release/bin/paddock

tidy: deps-ci
	@scripts/tidy

analyze: deps-ci
	@$(call configure,analyzer) && cmake --build --preset analyzer -j $(JOBS)

ci:
	@.ci/run

# What takes the better part of an hour: every sanitizer and analyzer, in turn.
deep: asan asan-gcc tidy analyze tsan valgrind fuzz-short

deps:
	@scripts/install-deps check
deps-build:
	@scripts/install-deps build
deps-ci:
	@scripts/install-deps ci

format:
	@find . -path ./build -prune -o -name '*.[ch]' -print | xargs clang-format -i

clean:
	@rm -rf build
