// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program for BOLT (bolt.sh): the usual way through it takes a branch at each decision, because
 * the rare cases stand in between.  Prints nothing; its exit status depends on all it computes.
 */
static unsigned int state = 12345;

static unsigned int next(void)
{
	state = state * 1103515245 + 12345;
	return state >> 16;
}

static unsigned int rare(unsigned int sum, unsigned int n)
{
	return sum * 31 + n;
}

/* The compiler keeps the order of the source: the rare cases come first */
__attribute__((noinline)) static unsigned int step(unsigned int sum, unsigned int n)
{
	if (n % 64 == 1)
		sum = rare(sum, n) ^ rare(n, sum) ^ 0x5a5a;
	if (n % 128 == 2)
		sum = rare(sum, n) + rare(n, 7) + 3;
	if (n % 256 == 3)
		sum = rare(sum, 5) - rare(n, sum);
	switch (n & 3) {
	case 0:
		return sum + n;
	case 1:
		return sum ^ n;
	case 2:
		return sum - n;
	default:
		return sum + 1;
	}
}

void _start(void)
{
	unsigned int i, sum = 0;
	long ret;

	for (i = 0; i < 100000; i++)
		sum = step(sum, next());
	__asm__ volatile("syscall" : "=a" (ret) : "a" (60), "D" (sum & 127) : "rcx", "r11");
	__builtin_unreachable();
}
