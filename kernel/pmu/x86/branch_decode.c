// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which kind of branch is an instruction?  SDM volume 2, "Instruction Format" and the opcode
 * maps.  Uses no kernel services: also built and tested in user space.
 */
#ifdef __KERNEL__
#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/types.h>
#else
#include "shim.h"
#endif

#include "branch.h"

/* The bytes of an instruction that are left */
struct bytes {
	const u8 *at;
	const u8 *end;
};

static bool is_prefix(u8 byte)
{
	switch (byte) {
	case 0x26: case 0x2e: case 0x36: case 0x3e:	/* segments, branch hints */
	case 0x64: case 0x65:
	case 0x66: case 0x67:				/* sizes */
	case 0xf0: case 0xf2: case 0xf3:		/* LOCK, REPNE/BND, REP */
		return true;
	}
	return false;
}

static bool is_rex(u8 byte)
{
	return (byte & 0xf0) == 0x40;
}

/* VEX and EVEX: no branch has such an encoding.  In 32-bit code they may be LDS, LES, BOUND. */
static bool is_vector(const struct bytes *b, bool is_64)
{
	if (*b->at != 0xc4 && *b->at != 0xc5 && *b->at != 0x62)
		return false;
	return is_64 || (b->at + 1 < b->end && b->at[1] >= 0xc0);
}

/* Opcodes of two bytes, the first of which is 0FH */
static unsigned int decode_two(const struct bytes *b)
{
	if (b->at == b->end)
		return X86_BRANCH_ABORT;
	switch (*b->at) {
	case 0x05: case 0x34:
		return X86_BRANCH_SYSCALL;
	case 0x07: case 0x35:
		return X86_BRANCH_SYSRET;
	case 0x80 ... 0x8f:
		return X86_BRANCH_COND;
	}
	return 0;
}

/* Opcode FFH: bits 5:3 of ModRM select the operation */
static unsigned int decode_group5(const struct bytes *b)
{
	if (b->at == b->end)
		return X86_BRANCH_ABORT;
	switch (*b->at >> 3 & 7) {
	case 2: case 3:
		return X86_BRANCH_IND_CALL;
	case 4: case 5:
		return X86_BRANCH_IND_JUMP;
	}
	return 0;
}

/* Direct near call; @len: size of the displacement in bytes */
static unsigned int decode_call(const struct bytes *b, int len)
{
	int i;

	for (i = 0; i < len && b->at + i < b->end; i++)
		if (b->at[i])
			return X86_BRANCH_CALL;
	return X86_BRANCH_ZERO_CALL;
}

/**
 * x86_branch_decode() - find out which kind of branch an instruction is
 * @insn: its bytes
 * @len: number of bytes that can be read, at most X86_MAX_INSN
 * @is_64: it is executed in 64-bit mode
 *
 * An interrupt or exception has a record too, from an instruction that may be no branch.
 *
 * Context: any.
 * Return: one of X86_BRANCH_*; X86_BRANCH_ABORT if bytes are missing; 0 if it is no branch.
 */
unsigned int x86_branch_decode(const u8 *insn, int len, bool is_64)
{
	struct bytes b = { insn, insn + len };
	bool is_16 = false;

	for (; b.at < b.end && is_prefix(*b.at); b.at++)
		if (*b.at == 0x66)
			is_16 = !is_64;
	if (is_64 && b.at < b.end && is_rex(*b.at))
		b.at++;
	if (b.at == b.end)
		return X86_BRANCH_ABORT;
	if (is_vector(&b, is_64))
		return 0;
	switch (*b.at++) {
	case 0x0f:
		return decode_two(&b);
	case 0x70 ... 0x7f:		/* Jcc */
	case 0xe0 ... 0xe3:		/* LOOPcc, JCXZ */
		return X86_BRANCH_COND;
	case 0x9a:			/* far CALL */
		return X86_BRANCH_CALL;
	case 0xc2: case 0xc3:		/* near RET */
	case 0xca: case 0xcb:		/* far RET */
		return X86_BRANCH_RET;
	case 0xcc: case 0xcd: case 0xce:
		return X86_BRANCH_INT;
	case 0xcf:
		return X86_BRANCH_IRET;
	case 0xe8:
		return decode_call(&b, is_16 ? 2 : 4);
	case 0xe9: case 0xea: case 0xeb:
		return X86_BRANCH_JUMP;
	case 0xff:
		return decode_group5(&b);
	}
	return 0;
}
