// SPDX-License-Identifier: GPL-2.0-only
/* Tests of kernel/pmu/x86/branch_decode.c. */
#include "unit.h"
#include "../../kernel/pmu/x86/branch.h"

/* Instructions whose kind does not depend on the mode, and some that are no branches */
static const struct {
	unsigned int kind;
	int len;
	u8 bytes[X86_MAX_INSN];
} both[] = {
	{ X86_BRANCH_COND, 2, { 0x74, 0x10 } },			/* je */
	{ X86_BRANCH_COND, 6, { 0x0f, 0x85, 1, 2, 3, 4 } },	/* jne, 32-bit displacement */
	{ X86_BRANCH_COND, 2, { 0xe2, 0xfe } },			/* loop */
	{ X86_BRANCH_COND, 2, { 0xe3, 0x02 } },			/* jecxz or jrcxz */
	{ X86_BRANCH_COND, 3, { 0x3e, 0x75, 0x02 } },		/* jne with a hint */
	{ X86_BRANCH_JUMP, 2, { 0xeb, 0x00 } },
	{ X86_BRANCH_JUMP, 5, { 0xe9, 0, 0, 0, 0 } },
	{ X86_BRANCH_CALL, 5, { 0xe8, 0, 0, 0, 1 } },
	{ X86_BRANCH_ZERO_CALL, 5, { 0xe8, 0, 0, 0, 0 } },
	{ X86_BRANCH_RET, 1, { 0xc3 } },
	{ X86_BRANCH_RET, 2, { 0xf3, 0xc3 } },			/* rep ret */
	{ X86_BRANCH_RET, 2, { 0xf2, 0xc3 } },			/* bnd ret */
	{ X86_BRANCH_RET, 3, { 0xc2, 8, 0 } },
	{ X86_BRANCH_RET, 1, { 0xcb } },
	{ X86_BRANCH_IND_CALL, 2, { 0xff, 0xd0 } },		/* call *%rax */
	{ X86_BRANCH_IND_CALL, 2, { 0xff, 0x18 } },		/* lcall *(%rax) */
	{ X86_BRANCH_IND_JUMP, 2, { 0xff, 0xe0 } },		/* jmp *%rax */
	{ X86_BRANCH_IND_JUMP, 3, { 0x3e, 0xff, 0xe0 } },	/* notrack jmp *%rax */
	{ X86_BRANCH_SYSCALL, 2, { 0x0f, 0x05 } },
	{ X86_BRANCH_SYSCALL, 2, { 0x0f, 0x34 } },		/* sysenter */
	{ X86_BRANCH_SYSRET, 2, { 0x0f, 0x07 } },
	{ X86_BRANCH_SYSRET, 2, { 0x0f, 0x35 } },		/* sysexit */
	{ X86_BRANCH_INT, 2, { 0xcd, 0x80 } },
	{ X86_BRANCH_INT, 1, { 0xcc } },
	{ X86_BRANCH_IRET, 1, { 0xcf } },
	{ 0, 1, { 0x90 } },					/* nop */
	{ 0, 2, { 0xff, 0xc0 } },				/* inc %eax */
	{ 0, 2, { 0xff, 0xf0 } },				/* push %rax */
	{ 0, 2, { 0x0f, 0xa2 } },				/* cpuid */
	{ 0, 4, { 0xc5, 0xf8, 0xc2, 0xc1 } },			/* vcmpps: C2H is no RET here */
	{ 0, 6, { 0x62, 0xf1, 0x7c, 0x48, 0xc2, 0xc1 } },	/* the same, EVEX */
	{ X86_BRANCH_ABORT, 0, { 0 } },
	{ X86_BRANCH_ABORT, 1, { 0x66 } },
	{ X86_BRANCH_ABORT, 1, { 0x0f } },
	{ X86_BRANCH_ABORT, 1, { 0xff } },
};

/* A copy of exactly @len bytes, so that the sanitizer finds a read beyond them */
static unsigned int decode(const u8 *bytes, int len, bool is_64)
{
	u8 *copy = unit_alloc(len ?: 1);
	unsigned int kind;

	memcpy(copy, bytes, len);
	kind = x86_branch_decode(copy, len, is_64);
	unit_free(copy);
	return kind;
}

TEST(kinds)
{
	size_t i;

	ROWS("S-19 A-75");
	for (i = 0; i < ARRAY_SIZE(both); i++) {
		EXPECT_EQ(decode(both[i].bytes, both[i].len, true), both[i].kind);
		EXPECT_EQ(decode(both[i].bytes, both[i].len, false), both[i].kind);
	}
}

/* What the two modes understand differently */
TEST(modes)
{
	const u8 rex[] = { 0x41, 0xff, 0xd3 };		/* call *%r11; 32-bit: inc %ecx */
	const u8 rex_two[] = { 0x48, 0x0f, 0x07 };	/* sysretq */
	const u8 short_call[] = { 0x66, 0xe8, 0, 0, 0, 1 };
	const u8 les[] = { 0xc4, 0x18 };		/* 32-bit: les (%eax),%ebx */

	ROWS("S-19");
	EXPECT_EQ(decode(rex, 3, true), X86_BRANCH_IND_CALL);
	EXPECT_EQ(decode(rex, 3, false), 0);
	EXPECT_EQ(decode(rex_two, 3, true), X86_BRANCH_SYSRET);
	/* In 32-bit code the displacement has 16 bits with this prefix */
	EXPECT_EQ(decode(short_call, 6, true), X86_BRANCH_CALL);
	EXPECT_EQ(decode(short_call, 6, false), X86_BRANCH_ZERO_CALL);
	EXPECT_EQ(decode(les, 2, false), 0);
}

/* Nothing beyond the end is read, whatever the bytes are */
TEST(random_bytes)
{
	u64 state = 1;
	u8 bytes[X86_MAX_INSN];
	unsigned int kind;
	int i, n;

	ROWS("S-19");
	for (n = 0; n < unit_often(200000); n++) {
		for (i = 0; i < X86_MAX_INSN; i++)
			bytes[i] = unit_random(&state);
		kind = decode(bytes, unit_random(&state) % (X86_MAX_INSN + 1), n & 1);
		/* No more than one kind */
		ASSERT_EQ(kind & (kind - 1), 0);
		ASSERT_EQ(kind & ~X86_BRANCH_ANY, 0);
	}
}

UNIT_SUITE(kpmu_branch, unit_nothing,
	   CASE(kinds) CASE(modes) CASE(random_bytes));
