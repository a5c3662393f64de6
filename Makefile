# The two commands: `make demo` shows what Holdfast does, `make test` shows that it works.
# Both install what is missing (tools/setup) and build first. `make help` lists the rest.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.PHONY: help setup build deb demo test check nightly bench bench-cache bench-controller bench-tunnel
.PHONY: bench-agents bench-failover bench-probe bench-track pair-faults ledger crash-test sim-cache
.PHONY: sim-tunnel sim-route plot-route soak model-pair fuzz tsan tsan-cache format clean tests-setup
.PHONY: release-tests

help: ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

setup:
	@tools/stage setup tools/setup build

tests-setup:
	@tools/stage setup tools/setup test

# The release preset with tests and benchmarks configured.
release-tests:
	@tools/stage setup tools/setup bench
	@tools/stage configure cmake --preset release -DHF_TESTS=ON -Wno-dev --log-level=WARNING

build: setup ## release binaries in build/release/bin
	@tools/stage configure cmake --preset release -Wno-dev --log-level=WARNING
	@tools/stage build cmake --build build/release --target holdfast holdfastd

deb: build ## build/holdfast_VERSION_ARCH.deb
	@tools/stage package tools/make-deb

demo: build ## see it work: proxies, agents, traffic, faults; leaves the fleet running
	@tools/demo

test: tests-setup ## the gate: every test under sanitizers, in one go; CI runs exactly this
	@tools/run-tests

check: ## what changed: format, style, clang-tidy, build, its tests; for daily work
	@tools/stage setup tools/setup test check
	@tools/check

nightly: ## hours: release-build process tests, all seeds, TSan, fuzzing, benchmarks; says what failed
	@tools/nightly

bench: release-tests ## benchmarks beside their peers; last lines are BAR name value limit ok|short
	@tools/stage "build benchmarks" cmake --build build/release --target store_bench fanout_bench
	@build/release/bin/store_bench
	@build/release/bin/fanout_bench

bench-cache: release-tests ## reads from a cache beside locked maps; swaps, memory, first readable
	@tools/stage "build benchmark" cmake --build build/release --target cache_bench
	@build/release/bin/cache_bench

bench-controller: release-tests ## 30,000 simulated agents against one controller, for two minutes
	@tools/stage "build benchmark" cmake --build build/release --target controller_bench
	@build/release/bin/controller_bench $(BENCH_FLAGS)

bench-tunnel: release-tests ## a tunnel beside ssh -R, nginx, haproxy and raw TLS; memory; about five minutes
	@tools/stage "build benchmark" cmake --build build/release --target tunnel_bench agents_bench
	@build/release/bin/tunnel_bench
	@HF_BENCH_ONLY=memory build/release/bin/agents_bench

bench-agents: release-tests ## 2,000 agents lose their proxy; memory of an idle tunnel
	@tools/stage "build benchmark" cmake --build build/release --target agents_bench
	@build/release/bin/agents_bench

bench-failover: release-tests ## a pair loses its active half, beside etcd; HF_BENCH_ROUNDS (30) each, as root
	@tools/stage "build benchmark" cmake --build build/release --target failover_bench
	@build/release/bin/failover_bench

bench-probe: release-tests ## probes through the handler beside the same made directly; 3 minutes, HF_BENCH_PROBES
	@tools/stage "build benchmark" cmake --build build/release --target probe_bench
	@build/release/bin/probe_bench

bench-track: release-tests ## connections counted in the kernel beside plain ones and nftables DNAT; as root
	@tools/stage "build benchmark" cmake --build build/release --target track_bench
	@build/release/bin/track_bench

pair-faults: release-tests ## 100 failovers of a pair in a row, then as many random faults; as root
	@tools/stage "build tests" cmake --build build/release --target e2e_pair_test
	@HF_PAIR_ROUNDS=$${HF_PAIR_ROUNDS:-100} build/release/bin/e2e_pair_test --gtest_filter='*Many*:*Random*'

ledger: release-tests ## 6 proxies, 60 agents, faults of HF_LEDGER_SECONDS (300) each: what was lost
	@tools/stage "build ledger" cmake --build build/release --target e2e_ledger_test
	@HF_LEDGER_SECONDS=$${HF_LEDGER_SECONDS:-300} build/release/bin/e2e_ledger_test

crash-test: release-tests ## 200 rounds of kill -9 against the SQLite store
	@tools/stage "build crash test" cmake --build build/release --target store_crash_test
	@HF_CRASH_ROUNDS=200 build/release/bin/store_crash_test

sim-cache: release-tests ## SEEDS (default 100000) runs of the simulation of caches
	@tools/stage build cmake --build build/release --target cache_simulation_test
	@HF_SIM_SEEDS=$${SEEDS:-100000} build/release/bin/cache_simulation_test --gtest_filter='*Every*'

sim-tunnel: release-tests ## SEEDS (default 10000) runs of the simulated fleet of agents and proxies
	@tools/stage build cmake --build build/release --target tunnel_fleet_test
	@HF_SIM_SEEDS=$${SEEDS:-10000} build/release/bin/tunnel_fleet_test

sim-route: release-tests ## fill, then spill; then SEEDS (default 20000) runs of leases under faults
	@tools/stage build cmake --build build/release --target route_leases_test
	@HF_SIM_SEEDS=$${SEEDS:-20000} build/release/bin/route_leases_test

plot-route: release-tests ## docs/routing.svg anew, from the simulation's own output
	@tools/stage build cmake --build build/release --target route_leases_test
	@HF_SIM_CSV=build/routing.csv build/release/bin/route_leases_test --gtest_filter='*TheOwnZone*'
	@tools/plot-route build/routing.csv docs/routing.svg

soak: release-tests ## SEEDS (default 10000) runs of the simulated pair of controllers
	@tools/stage build cmake --build build/release --target ha_pair_test
	@HF_SIM_SEEDS=$${SEEDS:-10000} build/release/bin/ha_pair_test --gtest_filter='PairSimulation.*'

model-pair: release-tests ## STATES (default 20000000) of each model of the pair; about 1.5 GB
	@tools/stage build cmake --build build/release --target ha_model_test
	@HF_MODEL_STATES=$${STATES:-20000000} build/release/bin/ha_model_test --gtest_filter='Pair/*'

fuzz: tests-setup ## each fuzz target for FUZZ_SECONDS (default 60), growing its corpus
	@tools/stage configure cmake --preset fuzz -Wno-dev --log-level=WARNING
	@tools/stage build cmake --build build/fuzz
	@tools/run-fuzz $${FUZZ_SECONDS:-60}

tsan: tests-setup ## every test under ThreadSanitizer
	@tools/stage configure cmake --preset tsan -Wno-dev --log-level=WARNING
	@tools/stage build cmake --build build/tsan
	@ctest --test-dir build/tsan --output-on-failure --no-tests=error -j2

tsan-cache: tests-setup ## the cache's readers and writer under ThreadSanitizer
	@tools/stage configure cmake --preset tsan -Wno-dev --log-level=WARNING
	@tools/stage build cmake --build build/tsan --target cache_test
	@ctest --test-dir build/tsan --output-on-failure --no-tests=error -R '^unit.cache$$'

format: ## rewrite the sources as clang-format wants them
	@git ls-files -co --exclude-standard '*.cc' '*.h' | xargs clang-format-19 -i

clean: ## remove everything built
	rm -rf build
