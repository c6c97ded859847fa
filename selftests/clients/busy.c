// SPDX-License-Identifier: GPL-2.0-only
/*
 * Load for busy.sh that never sleeps: three functions, called in the proportion 5 : 3 : 2, and
 * some system calls.  The order is pseudorandom.  With a regular order, samples of a matching
 * period would always be in the same function.
 */
#include <sys/syscall.h>
#include <unistd.h>

#define LOOP(name)						\
static void __attribute__((noinline)) name(long n)		\
{								\
	/* Equal functions could be merged: the name differs */	\
	__asm__ volatile("1: dec %0; jnz 1b /* " #name " */" : "+r"(n)); \
}

LOOP(hot)
LOOP(warm)
LOOP(cold)

int main(void)
{
	unsigned long r = getpid(), n;

	for (;;) {
		r = r * 6364136223846793005UL + 1442695040888963407UL;
		n = 2000 + (r >> 40) % 4096;
		switch ((r >> 33) % 10) {
		case 0 ... 4:
			hot(n);
			break;
		case 5 ... 7:
			warm(n);
			break;
		default:
			cold(n);
		}
		if (!(r >> 60))
			syscall(SYS_getppid);
	}
}
