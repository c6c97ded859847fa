/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * BPF without a library: small programs from instructions, their maps and links.
 *
 * A program that build_program() makes begins with a look-up of the only entry of an array map.
 * Then r6 points to the words of the entry, and r7 to the context.  Word 0 counts the runs.
 */
#ifndef KPMU_TEST_BPF_H
#define KPMU_TEST_BPF_H

#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BPF_WORDS	16

#define INSN(c, d, s, o, i)	((struct bpf_insn) { .code = (c), .dst_reg = (d), \
				 .src_reg = (s), .off = (o), .imm = (i) })
/* rD = imm, rD = rS, rD += imm, rD &= imm */
#define SET(d, i)	INSN(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define COPY(d, s)	INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define ADD(d, i)	INSN(BPF_ALU64 | BPF_ADD | BPF_K, d, 0, 0, i)
#define AND(d, i)	INSN(BPF_ALU64 | BPF_AND | BPF_K, d, 0, 0, i)
/* rD = *(u64 *)(rS + off), *(u64 *)(rD + off) = rS */
#define LOAD(d, s, o)	INSN(BPF_LDX | BPF_MEM | BPF_DW, d, s, o, 0)
#define STORE(d, s, o)	INSN(BPF_STX | BPF_MEM | BPF_DW, d, s, o, 0)
/* rS = atomic fetch and add of rS to *(u64 *)(rD + off) */
#define FETCH_ADD(d, s, o)	INSN(BPF_STX | BPF_ATOMIC | BPF_DW, d, s, o, BPF_ADD | BPF_FETCH)
#define MAP(d, fd)	INSN(BPF_LD | BPF_DW | BPF_IMM, d, BPF_PSEUDO_MAP_FD, 0, fd), \
			INSN(0, 0, 0, 0, 0)
#define CALL(f)		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, f)
#define EXIT()		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

static inline int sys_bpf(int cmd, union bpf_attr *attr)
{
	return syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

static inline int new_map_of(uint32_t type, uint32_t value_size, uint32_t entries)
{
	union bpf_attr a = {
		.map_type = type, .key_size = 4, .value_size = value_size, .max_entries = entries,
	};

	return sys_bpf(BPF_MAP_CREATE, &a);
}

static inline int words_map(void)
{
	return new_map_of(BPF_MAP_TYPE_ARRAY, BPF_WORDS * sizeof(uint64_t), 1);
}

/* Look up an entry; -1 if there is none */
static inline int map_entry(int map, uint32_t key, void *value)
{
	union bpf_attr a = {
		.map_fd = map, .key = (uintptr_t)&key, .value = (uintptr_t)value,
	};

	return sys_bpf(BPF_MAP_LOOKUP_ELEM, &a);
}

static inline uint64_t map_word(int map, int i)
{
	uint64_t words[BPF_WORDS] = { 0 };

	map_entry(map, 0, words);
	return words[i];
}

/* Load a program; -1 if the kernel refuses that */
static inline int try_load(uint32_t type, const struct bpf_insn *insns, int n)
{
	union bpf_attr a = {
		.prog_type = type, .insns = (uintptr_t)insns, .insn_cnt = n,
		.license = (uintptr_t)"GPL",
	};

	return sys_bpf(BPF_PROG_LOAD, &a);
}

/*
 * The look-up, a count of the run, @body, and the end, where r0 is the result: what @body has set r8
 * to.  At the begin of @body r8 is the number of earlier runs.
 */
static inline int build_program(uint32_t type, int map, const struct bpf_insn *body, int n)
{
	const struct bpf_insn begin[] = {
		COPY(7, 1),
		INSN(BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, 0),
		COPY(2, 10), ADD(2, -4),
		MAP(1, map),
		CALL(BPF_FUNC_map_lookup_elem),
		INSN(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 1, 0),
		EXIT(),
		COPY(6, 0),
		SET(8, 1),
		FETCH_ADD(6, 8, 0),
	};
	const struct bpf_insn end[] = { COPY(0, 8), EXIT() };
	struct bpf_insn all[64];
	int nr = 0, fd;

	memcpy(all, begin, sizeof(begin));
	nr += sizeof(begin) / sizeof(*begin);
	memcpy(all + nr, body, n * sizeof(*body));
	nr += n;
	memcpy(all + nr, end, sizeof(end));
	nr += sizeof(end) / sizeof(*end);
	fd = try_load(type, all, nr);
	if (fd < 0) {
		perror("# BPF_PROG_LOAD");
		exit(1);
	}
	return fd;
}

#define BUILD(type, map, ...) ({						\
	const struct bpf_insn __body[] = { __VA_ARGS__ };			\
	build_program(type, map, __body, sizeof(__body) / sizeof(*__body)); })

/* Id of a program; 0 if @fd is none */
static inline uint32_t program_id(int fd)
{
	struct bpf_prog_info info;
	union bpf_attr a = {
		.info = { .bpf_fd = fd, .info = (uintptr_t)&info, .info_len = sizeof(info) },
	};

	memset(&info, 0, sizeof(info));
	return sys_bpf(BPF_OBJ_GET_INFO_BY_FD, &a) ? 0 : info.id;
}

/* Does the kernel have a program of this id? */
static inline int program_exists(uint32_t id)
{
	union bpf_attr a = { .prog_id = id };
	int fd = sys_bpf(BPF_PROG_GET_FD_BY_ID, &a);

	if (fd < 0)
		return 0;
	close(fd);
	return 1;
}

#endif
