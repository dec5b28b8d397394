# Two commands matter: `make run` and `make test`. Each does all its own set-up on a fresh Debian or Ubuntu machine.

SHELL := /bin/bash
.DEFAULT_GOAL := help
ARGS ?=
export PREFIX ?= /usr/local
export DESTDIR ?=
export BINARY ?= target/release/punctual

.PHONY: help run hub test install uninstall fresh conclusions farm-demo farm-kill farm-load farm-fuzz lab lab-quick armhf bench build lint fuzz viewer clean

help: ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 13

run: ## set up, build, and say whether this machine acts on time (ARGS="--deadline 200us --time 5m")
	@scripts/setup run
	@scripts/build verdict
	@scripts/permit target/release/punctual
	@scripts/verdict target/release/punctual assess $(ARGS)

hub: ## set up, build, and serve a farm's hub until Ctrl-C: agents at port 5378, pages at http://127.0.0.1:5379 (ARGS="--public")
	@scripts/setup run
	@scripts/build hub
	@scripts/permit target/release/punctual
	@target/release/punctual-hub serve $(ARGS)

test: ## set up, then every test that needs no special hardware
	@scripts/setup test
	@scripts/test

install: ## after `make run`, as root: program, manual pages, completions (PREFIX=/usr/local, DESTDIR)
	@scripts/install install

uninstall: ## remove what `make install` installed, with the same PREFIX and DESTDIR
	@scripts/install uninstall

fresh: ## both commands in clean roots of Debian 13 and 12, as root (SUITES=trixie for one)
	@scripts/fresh $(SUITES)

conclusions: ## set up, build, and check the commands' conclusions against cases whose truth is known (ARGS="--seed 7")
	@scripts/setup run
	@scripts/build proof
	target/release/punctual-proof conclusions $(ARGS)

farm-demo: ## set up, build, and show a farm: a hub, three emulated machines, and the late one first on its pages (ARGS="--stay")
	@scripts/farm-demo $(ARGS)

farm-kill: ## set up, build, and kill a hub and 20 agents 50 times; what is kept has to be what was measured (ARGS="--seed 7"; "--power": power cuts)
	@scripts/setup run
	@case " $(ARGS) " in *" --power "*) scripts/setup power ;; esac
	@scripts/build farm
	target/release/punctual-farmproof kill --hub target/release/punctual-hub $(ARGS)

farm-load: ## set up, build, and load a hub: each figure with its target (ARGS="--only sending", "--fleet-nodes 1000"; makes a store of 5 GB once)
	@scripts/setup run
	@scripts/build farm
	target/release/punctual-farmproof load --hub target/release/punctual-hub $(ARGS)

farm-fuzz: ## set up, build, and let hostile nodes, drawn questions and schemathesis at a hub, a minute each (ARGS="--seconds 600")
	@scripts/setup farm-fuzz
	@scripts/build farm
	target/release/punctual-farmproof fuzz --hub target/release/punctual-hub --schemathesis target/schemathesis/bin/schemathesis $(ARGS)

lab: ## set up, then every scenario of the virtual lab, on real PREEMPT_RT kernels, and the calibration
	@scripts/lab

lab-quick: ## the scenarios that take less than three minutes together; part of `make test`
	@scripts/lab quick

bench: ## set up, then compare with cyclictest and a bare C loop, interleaved, as ratios
	@scripts/setup bench
	@$(MAKE) --no-print-directory build
	@scripts/build hub
	@bench/run; ran=$$?; bench/handover && bench/agent && bench/packets && bench/pulse && exit $$ran

build: ## target/release/punctual: static, with the viewer, the lab and the export to Parquet inside; and punctual-proof
	@scripts/build

armhf: ## target/release/punctual-armhf: static, for ARMv7 boards, built with Debian 13's compiler
	@scripts/setup armhf
	@scripts/armhf

lint: ## format and clippy, as the tests run them
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings

fuzz: ## ten minutes of fuzzing (needs a nightly toolchain and cargo-fuzz)
	@scripts/fuzz

viewer: ## rebuild the committed viewer from web/
	@web/build.sh

clean: ## remove what was built
	cargo clean
	rm -rf web/node_modules web/shots
