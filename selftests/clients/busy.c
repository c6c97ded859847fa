// SPDX-License-Identifier: GPL-2.0-only
/*
 * Never idle: three functions in the proportion 5 : 3 : 2, and system calls.  In no
 * regular order, or a period that fits it would always hit the same one.
 */
#include <sys/syscall.h>
#include <unistd.h>

#define LOOP(name)						\
static void __attribute__((noinline)) name(long n)		\
{								\
	/* The name, or the compiler makes one of the three */	\
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
