# SPDX-License-Identifier: GPL-2.0-only
# Entry points for users and CI; "make help" prints the lines that start with "## ".
#
## make demo         boot a guest, load kpmu, count a known workload with it and with native perf
## make kinds        count and sample every kind of event, natively and on kpmu: a table
## make test         all tests, each on one kernel or more (FRESH=1: no cached results; WHOLE=1: each
##                   program on three kernels, all repetitions, as in CI)
## make test-all     the same as WHOLE=1, each boot on all of its kernels (KERNELS="debug 6.1 6.12 7.2")
## make test-quick   for each commit, some minutes: checks, unit tests, guests of one kernel (K)
## make test-repeat  make test IDLE times (5), then BUSY times (3) beside busy loops
## make test-debug   the tests in guests, on a kernel with KASAN, lockdep and other checks
## make test-kvm     the harness on KVM's vPMU, without a host that has one: KVM runs in a guest of the model
##                   of an AMD CPU (K=6.12, P="programs")
## make test-mediated  events beside a KVM that gives its guest the counters themselves, and count_kvm on 7.2
##                   (builds 7.2 with KVM the first time)
## make clients      Debian's perf and other programs, natively and on kpmu (K=6.1: only there)
## make clients-bpf  bpftrace and libbpf-tools, natively and on kpmu
## make clients-amd  the same on AMD's EPYC-Genoa (on 6.12, or K=)
## make perf-test    perf's own tests, natively and on kpmu (K=6.12)
## make bolt         optimise a program with BOLT from kpmu's branch records (K=7.2)
## make timeline-page  record 16 events in a guest with kpmu-timeline, and check its trace and, with
##                   Chromium, its page (K=6.12)
## make perf-busy    perf record -F 4000 -a -g for 30 s on a busy machine, natively and on kpmu
## make perf-switching  switch the redirect on and off 1,000 times while perf runs (K=debug)
## make stress       random concurrent operations (T=600 seconds, K=debug, SEED=n,
##                   P=stress_storm: a storm of NMIs)
## make fuzz         compare random programs natively and on kpmu (T=600 seconds, SEED=n);
##                   K=debug: several at a time, on kpmu only, with the checks of the kernel
## make coverage     the code of the module that tests reach: a table, a page per file
##                   (J=guests at a time, P="programs")
## make mutants      insert small bugs, one at a time: does a test fail? (N=40, SEED=n,
##                   T=seconds of tests for each, J=at a time; needs make coverage)
## make bench        measure the cost of operations, natively and on kpmu, on 6.1 and 7.2
## make shell        a shell in a guest with kpmu, perf, gdb, bpftrace and others, in this checkout (K=6.12;
##                   ROOT=/: this machine's programs; BUSYBOX=1: only busybox, nothing to fetch)
## make run CMD='perf stat ls'  run one command there (K=6.12; T=3600 seconds)
## make shell-test   test both, with a terminal (fetches Debian packages the first time; WARM=seconds)
## make ci-test      test ci/: qemu-pmu, counts of a sample project in guests, the CI action, virtme-ng
## make deb          the Debian package qemu-pmu: QEMU with the PMU model (J=jobs; build/deb)
## make deb-test    install that package on fresh roots of Debian 12 and 13, and run a guest there (root)
## make image-test  build the image of ci/Containerfile, and count in a container of it (root, podman;
##                   QUICK=1: with this machine's QEMU and kernel)
## make grade LAB=1  grade your own file of a lab of the course, or prepare it (LAB=all: all eight)
## make labs         test the course: solutions pass, skeletons and mistakes fail
## make kselftest TREE=linux  put the tests into a kernel tree, as tools/testing/selftests/kpmu
## make conformance  rows of the specification that the last tests proved (V=1: with the tests)
## make check        sparse, checkpatch, names, shellcheck, syzkaller description, SPDX lines
## make htmldocs     Documentation/ and the kernel-doc as HTML: build/htmldocs/index.html
## make layers       check that each file calls and includes only what Kbuild lists before it
## make modules      build kpmu.ko for all stock kernels (build/NAME/kpmu.ko)
## make module K=6.1 build it for one kernel; K=given KDIR=tree KERNEL=vmlinuz for your own
## make selftests    build the test programs
## make tools        build libkpmu, libkpmu-preload.so, kpmu-exec, kpmu-stat, kpmu-record, kpmu-timeline
##                   (build/tools)
## make install      install tools, library, man pages, udev rule, sources for dkms (DESTDIR= PREFIX=)
## make deps         install what the build needs (Debian, root)
## make clean        remove build/, but not build/labs and the caches outside the checkout

K ?= 6.12
KERNELS := 6.1 6.12 7.2
TOP := $(CURDIR)

.DEFAULT_GOAL := help
help:
	@sed -n 's/^## //p' Makefile

# Each kernel builds in its own copy of the sources, so that builds do not interfere
module:
	@qemu/module.sh $(K)
modules:
	@for k in $(KERNELS); do qemu/module.sh $$k || exit 1; done
tools:
	@$(MAKE) -s -j"$$(nproc)" -C tools
selftests: tools
	@selftests/build.sh
demo: deps module selftests
	@qemu/run.sh -k $(K) -s 1 -f build/selftests/demo_demo demo_demo
kinds: deps module selftests
	@qemu/run.sh -k $(K) -s 2 -f build/selftests/kinds_every kinds_every
bench: modules selftests
	@selftests/bench/run.sh
check:
	@selftests/check.sh
htmldocs:
	@qemu/deps.sh python3-sphinx python3-myst-parser graphviz mandoc
	@Documentation/build.sh
layers: module
	@selftests/layers.sh $(K)
deps:
	@qemu/deps.sh
kselftest:
	@selftests/kselftest/into.sh $(or $(TREE),$(error TREE= must name a kernel tree))
# Within the guest the tools are those of build/tools
guest-deps: module tools
	@$(if $(BUSYBOX)$(ROOT),:,qemu/userland.sh >/dev/null)
shell: guest-deps
	@$(if $(BUSYBOX),qemu/run.sh -k $(K) -I,qemu/shell.sh -k $(K) $(if $(ROOT),-r $(ROOT)))
run: export KPMU_RUN := $(value CMD)
run: $(if $(CMD),guest-deps)
	@$(if $(CMD),,echo "make run: what to run? CMD='perf stat ls'" >&2; exit 1)
	@qemu/shell.sh -k $(K) $(if $(ROOT),-r $(ROOT)) $(if $(T),-t $(T)) "$$KPMU_RUN"
shell-test: guest-deps
	@qemu/userland/test.sh $(K)
ci-test: guest-deps
	@ci/test.sh
deb:
	@J=$(J) ci/deb.sh
deb-test:
	@ci/deb-test.sh
image-test:
	@ci/image-test.sh $(if $(QUICK),-q)
conformance:
	@selftests/conformance.sh $(if $(V),-v)
test: deps modules selftests
	@selftests/all.sh $(if $(WHOLE),-w) $(KERNELS)
test-all: deps modules selftests
	@selftests/all.sh -a $(KERNELS)
test-quick: module selftests
	@selftests/all.sh -q $(K)
test-repeat: deps
	@selftests/repeat.sh $(or $(IDLE),5) $(or $(BUSY),3)
test-debug: deps selftests
	@qemu/module.sh debug
	@selftests/all.sh -g debug
test-kvm: deps module selftests
	@qemu/deps.sh kmod
	@selftests/nested.sh -k $(K) $(P)
test-mediated: deps selftests
	@qemu/module.sh kvm
	@selftests/run.sh -k kvm -b kvm72
	@selftests/run.sh -k kvm -b mediated
stress: module selftests
	@selftests/stress/run.sh $(K) $(or $(T),60) "$(SEED)" $(P)
fuzz: module selftests
	@selftests/fuzz/run.sh $(K) $(or $(T),600) "$(SEED)"
coverage: deps selftests
	@qemu/deps.sh lcov
	@selftests/coverage/run.sh $(P)
mutants: deps module selftests
	@qemu/deps.sh coccinelle
	@selftests/mutants/run.sh $(or $(N),40) $(SEED)
install: tools
	@tools/install.sh
clients: modules selftests
	@selftests/clients/run.sh $(if $(filter command%,$(origin K)),$(K),6.1 7.2)
clients-bpf: modules selftests
	@qemu/deps.sh clang llvm zlib1g-dev
	@selftests/clients/run.sh -b $(if $(filter command%,$(origin K)),$(K),6.1 6.12 7.2)
clients-amd: module selftests
	@selftests/clients/run.sh -c genoa $(K)
perf-test: module selftests
	@selftests/clients/run.sh -g perftest.sh $(K)
perf-switching: module selftests
	@CLIENTS_LIMIT=1800 selftests/clients/run.sh -g switching.sh $(K)
bolt: module selftests tools
	@selftests/clients/bolt.sh $(K)
timeline-page: deps module tools
	@K=$(K) tools/timeline-page.sh
perf-busy: module selftests
	@selftests/clients/run.sh -g busy.sh $(K)
grade:
	@labs/grade.sh $(or $(LAB),$(error LAB=1 to 8 or all; see Documentation/labs/index.rst))
labs:
	@labs/check.sh
# build/labs is the work of the user
clean:
	@[ ! -e build ] || find build -mindepth 1 -maxdepth 1 ! -name labs -exec rm -rf {} +

.PHONY: help module modules selftests demo kinds bench check layers conformance deps
.PHONY: tools install clients clients-amd clients-bpf perf-test bolt perf-busy perf-switching shell test test-all test-debug test-quick test-kvm test-mediated stress fuzz clean
.PHONY: run guest-deps shell-test ci-test deb deb-test image-test
.PHONY: kselftest timeline-page grade labs coverage mutants htmldocs test-repeat
