// SPDX-License-Identifier: GPL-2.0-only
/* FLAGS: -O0 -no-pie */
/*
 * The grader of lab 7: a writer is interrupted.  It runs with the trap flag set, so a signal comes after
 * each of its instructions.  The handler of one of them writes another entry, as the handler of an NMI
 * does.  All instructions have their turn.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>
#include <x86intrin.h>

#include "common.h"

#define TRAP_FLAG	0x100ull
#define LEVELS		2
#define LAST		20

static struct ring ring;
/* Per level: steps so far, and the one at which the next level begins; 0 for none */
static u64 steps[LEVELS], at[LEVELS];
/* A later step of level 0 at which the next level begins once more */
static u64 again;
static u64 head_seen;
static volatile int level;
static u64 taken, early, next_seq;
static bool wrote[LEVELS + 2];
static u32 nr_writes;
/* What the writer was about to execute when it was interrupted, and that of the first failure */
static u64 stopped_at, failed_at;
static bool failed_early;

/* No entry before the head may be one that is not complete, or is there twice */
static void look(void)
{
	struct entry e;
	u64 pos, seen = 0;

	early += shared_head < head_seen;
	head_seen = shared_head;
	if (shared_head - shared_tail > ring.size || (shared_head - shared_tail) % sizeof(e)) {
		early++;
		return;
	}
	for (pos = shared_tail; pos != shared_head; pos += sizeof(e)) {
		for (u64 i = 0; i < sizeof(e); i += 8)
			((u64 *)&e)[i / 8] = ring.data[((pos + i) & (ring.size - 1)) / 8];
		if (!whole(&e) || e.seq >= 64 || seen & 1ull << e.seq) {
			early++;
			return;
		}
		seen |= 1ull << e.seq;
	}
}

static void write_stepping(void)
{
	struct entry e = entry_of(next_seq++);
	bool step = level < LEVELS && at[level], done;

	if (step)
		__writeeflags(__readeflags() | TRAP_FLAG);
	done = ring_write(&ring, &e);
	if (step)
		__writeeflags(__readeflags() & ~TRAP_FLAG);
	wrote[nr_writes++] = done;
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	int mine = level;

	look();
	steps[mine]++;
	if (steps[mine] != at[mine] && (mine || steps[mine] != again))
		return;
	if (!mine)
		stopped_at = ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	taken++;
	level = mine + 1;
	write_stepping();
	level = mine;
}

/* Two entries are there; one is written, interrupted as @at says.  Return whether all is well after it. */
static bool one(u64 first, u64 second, u64 room)
{
	struct entry e;
	u64 i, before = (ring.size / sizeof(e)) - room, found = 0, wanted = 0, lost;
	bool well;

	memset(ring.data, 0xee, ring.size);
	ring.written = shared_head = shared_tail = head_seen = 0;
	ring.nest = 0;
	ring.lost = 0;
	memset(steps, 0, sizeof(steps));
	memset(wrote, 0, sizeof(wrote));
	nr_writes = 0;
	early = 0;
	taken = 0;
	for (i = 0; i < before; i++)
		write_seq(&ring, i);
	next_seq = before;
	at[0] = first;
	at[1] = second;
	write_stepping();
	at[0] = at[1] = again = 0;
	look();
	for (i = 0; i < nr_writes; i++)
		wanted += wrote[i];
	lost = next_seq - before - wanted;
	while (ring_read(&ring, &e) && found < 64)
		found++;
	well = !early && found == before + wanted && ring.lost == lost && !ring.nest &&
	       (wanted == room || !lost);
	if (!well && taken && !failed_at) {
		failed_at = stopped_at;
		failed_early = early;
	}
	return well;
}

/* Tell about the first failure, if there was one */
static void explain(void)
{
	char cmd[64], line[128] = "";
	FILE *f;

	if (!failed_at)
		return;
	snprintf(cmd, sizeof(cmd), "addr2line -s -e /proc/%d/exe 0x%llx", getpid(),
		 (unsigned long long)failed_at);
	f = popen(cmd, "r");
	if (f) {
		if (fgets(line, sizeof(line), f))
			line[strcspn(line, "\n ")] = 0;	/* without "(discriminator 1)" */
		pclose(f);
	}
	printf("# the first failure: interrupted at %s, %s\n", line, failed_early ?
	       "and before the head was an incomplete entry, or one twice, or the head went back" :
	       "and then an entry was missing, or lost or nest was wrong");
}

/* Interrupt it at each instruction in turn.  Return how often something was wrong. */
static u64 each(u64 room, u64 *instructions)
{
	u64 wrong = 0, at_step;

	for (at_step = 1; at_step < 100000; at_step++) {
		wrong += !one(at_step, 0, room);
		if (!taken)
			break;
	}
	*instructions = at_step - 1;
	return wrong;
}

/* Interrupt it twice, in all of its last instructions, where it publishes */
static u64 at_the_end(u64 instructions)
{
	u64 wrong = 0, first, apart;

	for (first = instructions - LAST; first <= instructions; first++) {
		for (apart = 1; apart <= LAST; apart++) {
			again = first + apart;
			wrong += !one(first, 0, 8);
		}
	}
	return wrong;
}

int main(void)
{
	struct sigaction act = { .sa_sigaction = on_trap, .sa_flags = SA_NODEFER | SA_SIGINFO };
	u64 instructions, full, wrong = 0, seed = 1, i, twice = 0;

	sigaction(SIGTRAP, &act, NULL);
	ring = ring_new(256);
	lab_check("a writer that is not interrupted fails", !one(0, 0, 8), 0);
	lab_check("interrupted at one of its instructions, by a writer: failures",
		  each(8, &instructions), 0);
	lab_check("its instructions are more than 50", instructions > 50, 1);
	lab_check("with room for one of both: failures", each(1, &full), 0);
	lab_check("without room: failures", each(0, &full), 0);
	for (i = 0; i < 300; i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		wrong += !one(1 + (seed >> 33) % instructions, 1 + (seed >> 45) % instructions, 8);
		twice += taken == 2;
	}
	lab_check("by a writer that is interrupted as well, 300 times: failures", wrong, 0);
	lab_check("most of these were", twice > 200, 1);
	lab_check("by two writers, one after the other, near the end: failures",
		  at_the_end(instructions), 0);
	explain();
	free(ring.data);
	lab_end();
	return 0;
}
