// SPDX-License-Identifier: GPL-2.0-only
/* TAP output on the debug console, parameters from fw_cfg. */
#include "guest.h"

static int tests, failed;

void *memset(void *p, int c, u64 n)
{
	asm volatile("rep stosb" : "+D"(p), "+c"(n) : "a"(c) : "memory");
	return p;
}

void *memcpy(void *d, const void *s, u64 n)
{
	void *r = d;

	asm volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n) :: "memory");
	return r;
}

int streq(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

static void put(char c)
{
	outb(0xe9, c);
}

static void put_num(u64 v, int base)
{
	char buf[24];
	int i = 0;

	do {
		buf[i++] = "0123456789abcdef"[v % base];
		v /= base;
	} while (v);
	while (i)
		put(buf[--i]);
}

static void vprint(const char *fmt, __builtin_va_list ap)
{
	const char *s;
	s64 d;

	for (; *fmt; fmt++) {
		if (*fmt != '%') {
			put(*fmt);
			continue;
		}
		switch (*++fmt) {
		case 's':
			for (s = __builtin_va_arg(ap, const char *); *s; s++)
				put(*s);
			break;
		case 'd':
			d = __builtin_va_arg(ap, s64);
			if (d < 0) {
				put('-');
				d = -d;
			}
			put_num(d, 10);
			break;
		case 'x':
			put_num(__builtin_va_arg(ap, u64), 16);
			break;
		default:
			put(*fmt);
		}
	}
}

void print(const char *fmt, ...)
{
	__builtin_va_list ap;

	__builtin_va_start(ap, fmt);
	vprint(fmt, ap);
	__builtin_va_end(ap);
}

/* Print one TAP line. Integer arguments must be 64 bits wide. */
void check(int ok, const char *fmt, ...)
{
	__builtin_va_list ap;

	tests++;
	failed += !ok;
	print("%s %d - ", ok ? "ok" : "not ok", (s64)tests);
	__builtin_va_start(ap, fmt);
	vprint(fmt, ap);
	__builtin_va_end(ap);
	put('\n');
}

void result_skip(const char *name, const char *why)
{
	tests++;
	print("ok %d - %s # SKIP %s\n", (s64)tests, name, why);
}

/* End of the program: QEMU exits with status 1 if all checks passed, else 3 */
void finish(void)
{
	print("1..%d\n", (s64)tests);
	outb(0xf4, failed ? 1 : 0);
	for (;;)
		asm volatile("cli; hlt");
}

/* ---- fw_cfg: files opt/kpmu/NAME ------------------------------------- */

static void fw_select(u16 sel)
{
	outw(0x510, sel);
}

static void fw_bytes(void *p, int n)
{
	u8 *b = p;

	while (n--)
		*b++ = inb(0x511);
}

/* Longest value of a parameter, with its end */
#define PARAM_SIZE	256

/* Read a parameter's value to @b; 0 if there is none */
static int param_read(const char *name, char b[PARAM_SIZE])
{
	struct { u32 size; u16 sel, res; char name[56]; } f;
	u32 count;

	fw_select(0x19);
	fw_bytes(&count, 4);
	for (count = __builtin_bswap32(count); count; count--) {
		fw_bytes(&f, sizeof(f));
		if (!streq(f.name + (f.name[0] == 'o' ? 9 : 0), name))
			continue;
		u32 size = __builtin_bswap32(f.size);

		if (size >= PARAM_SIZE) {
			print("Bail out! parameter %s is too long\n", name);
			outb(0xf4, 2);
		}
		fw_select(__builtin_bswap16(f.sel));
		fw_bytes(b, size);
		b[size] = 0;
		return 1;
	}
	return 0;
}

/* The value of the parameter "tests": it stays where it is, as only this one is a string */
const char *tests_wanted(void)
{
	static char b[PARAM_SIZE];

	return param_read("tests", b) ? b : 0;
}

int param(const char *name, int def)
{
	char b[PARAM_SIZE], *s = b;
	int v = 0;

	if (!param_read(name, b))
		return def;
	while (*s >= '0' && *s <= '9')
		v = v * 10 + *s++ - '0';
	return v;
}
