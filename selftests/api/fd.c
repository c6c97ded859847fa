// SPDX-License-Identifier: GPL-2.0-only
/* An event's fd as a file: inherited, passed by SCM_RIGHTS, duplicated, closed while in use. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "event.h"
#include "harness.h"
#include "task.h"

static int insns(void)
{
	return ev_self(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1);
}

/* Evaluate @expr in a child process.  The value is true if @expr is true there. */
#define IN_CHILD(expr) ({						\
	int __status;							\
	pid_t __pid = fork();						\
									\
	if (!__pid)							\
		_exit(!(expr));						\
	waitpid(__pid, &__status, 0);					\
	WIFEXITED(__status) && !WEXITSTATUS(__status);			\
})

TEST(child_reads_the_parents_event)
{
	ROWS("O-30");
	int fd = insns();
	uint64_t v;

	work_counted(fd, 1000, 0);
	v = ev_count(fd);
	EXPECT_TRUE(IN_CHILD(ev_count(fd) == v));
	/* The event counts only the parent, not the child */
	ev_enable(fd);
	v = ev_count(fd);
	EXPECT_TRUE(IN_CHILD((work(1000000), 1)));
	EXPECT_LT(ev_count(fd), v + 1000000);
	/* The child may also control the event */
	EXPECT_TRUE(IN_CHILD(ioctl(fd, PERF_EVENT_IOC_DISABLE, 0) == 0));
	v = ev_count(fd);
	work(1000);
	EXPECT_EQ(ev_count(fd), v);
	EXPECT_TRUE(IN_CHILD(ioctl(fd, PERF_EVENT_IOC_RESET, 0) == 0));
	EXPECT_EQ(ev_count(fd), 0);
}

TEST(child_closes_its_copy)
{
	ROWS("O-30");
	int fd = insns();

	EXPECT_TRUE(IN_CHILD(close(fd) == 0));
	work_counted(fd, 1000, 0);
	EXPECT_GE(ev_count(fd), WORK_INSNS(1000));
}

TEST(event_outlives_its_opener)
{
	ROWS("O-30 F-24");
	int sock[2], fd = -1, status;
	char c, ctl[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { &c, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1,
			    .msg_control = ctl, .msg_controllen = sizeof(ctl) };
	struct cmsghdr *h;
	uint64_t v;
	pid_t pid;

	ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sock), 0);
	pid = fork();
	if (!pid) {
		fd = insns();
		work_counted(fd, 1000, 0);
		h = CMSG_FIRSTHDR(&m);
		h->cmsg_level = SOL_SOCKET;
		h->cmsg_type = SCM_RIGHTS;
		h->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(h), &fd, sizeof(fd));
		_exit(sendmsg(sock[1], &m, 0) != 1);
	}
	waitpid(pid, &status, 0);
	ASSERT_EQ(status, 0);
	ASSERT_EQ(recvmsg(sock[0], &m, 0), 1);
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	v = ev_count(fd);
	EXPECT_GE(v, WORK_INSNS(1000));
	EXPECT_LE(v, WORK_INSNS(1000) + SLACK(WORK_INSNS(1000)));
	/* The event's task has exited: nothing counts, but the ioctls still work */
	EXPECT_EQ(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0), 0);
	EXPECT_EQ(ev_count(fd), v);
	EXPECT_EQ(ioctl(fd, PERF_EVENT_IOC_RESET, 0), 0);
	EXPECT_EQ(ev_count(fd), 0);
}

/* The last reference to the event is in a socket message that is never received */
TEST(fd_in_unread_message)
{
	ROWS("O-28");
	int sock[2], fd = insns();
	char c = 0, ctl[CMSG_SPACE(sizeof(int))] = "";
	struct iovec iov = { &c, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1,
			    .msg_control = ctl, .msg_controllen = sizeof(ctl) };
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);

	ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sock), 0);
	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(h), &fd, sizeof(fd));
	ASSERT_EQ(sendmsg(sock[0], &m, 0), 1);
	close(fd);
	close(sock[0]);
	close(sock[1]);
	fd = insns();
	work_counted(fd, 1000, 0);
	EXPECT_GE(ev_count(fd), WORK_INSNS(1000));
}

TEST(dup_is_the_same_event)
{
	ROWS("O-28");
	int fd = insns(), other = dup(fd);

	work_counted(fd, 1000, 0);
	EXPECT_EQ(ev_count(other), ev_count(fd));
	EXPECT_EQ(ev_id(other), ev_id(fd));
	close(fd);
	work_counted(other, 1000, 0);
	EXPECT_GE(ev_count(other), 2 * WORK_INSNS(1000));
	EXPECT_EQ(dup2(other, 100), 100);
	close(other);
	EXPECT_GE(ev_count(100), 2 * WORK_INSNS(1000));
}

TEST(closed_is_ebadf)
{
	int fd = insns();
	uint64_t v;

	close(fd);
	EXPECT_EQ(read(fd, &v, 8), -1);
	EXPECT_EQ(errno, EBADF);
	EXPECT_EQ(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0), -1);
	EXPECT_EQ(errno, EBADF);
}

TEST(nonblock_and_owner)
{
	ROWS("O-32");
	int fd = insns(), fl = fcntl(fd, F_GETFL);

	EXPECT_EQ(fl & O_ACCMODE, O_RDWR);
	EXPECT_EQ(fl & O_NONBLOCK, 0);
	EXPECT_EQ(fcntl(fd, F_SETFL, fl | O_NONBLOCK), 0);
	EXPECT_EQ(fcntl(fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	EXPECT_EQ(ev_count(fd), 0);
	EXPECT_EQ(fcntl(fd, F_SETFL, fl), 0);
	EXPECT_EQ(ev_count(fd), 0);
	EXPECT_EQ(fcntl(fd, F_SETOWN, getpid()), 0);
	EXPECT_EQ(fcntl(fd, F_GETOWN), getpid());
	EXPECT_EQ(fcntl(fd, F_SETSIG, SIGUSR1), 0);
	EXPECT_EQ(fcntl(fd, F_GETSIG), SIGUSR1);
}

TEST(async)
{
	ROWS("O-32");
	int fd = insns(), fl = fcntl(fd, F_GETFL);

	EXPECT_EQ(fcntl(fd, F_SETFL, fl | O_ASYNC), 0);
	EXPECT_EQ(fcntl(fd, F_GETFL) & O_ASYNC, O_ASYNC);
	EXPECT_EQ(fcntl(fd, F_SETFL, fl), 0);
	EXPECT_EQ(fcntl(fd, F_GETFL) & O_ASYNC, 0);
}

TEST(lseek_and_write_fail)
{
	ROWS("U-40");
	int fd = insns();
	uint64_t v = 0;

	EXPECT_EQ(lseek(fd, 0, SEEK_SET), -1);
	EXPECT_EQ(errno, ESPIPE);
	EXPECT_EQ(write(fd, &v, 8), -1);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(pread(fd, &v, 8, 0), -1);
	EXPECT_EQ(errno, ESPIPE);
}

TEST(link_text)
{
	ROWS("U-40");
	char path[64], text[64] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", insns());
	ASSERT_GT(readlink(path, text, sizeof(text) - 1), 0);
	printf("# it is %s\n", text);
	EXPECT_EQ(strcmp(text, "anon_inode:[perf_event]"), 0);
}

/* Without a ring buffer there is nothing to wait for: POLLHUP at once */
TEST(poll_without_ring)
{
	ROWS("V-08");
	struct pollfd p = { .fd = insns(), .events = POLLIN };

	EXPECT_EQ(poll(&p, 1, 1000), 1);
	EXPECT_EQ(p.revents, POLLHUP);
}

static int shared;
static volatile int stop;

static void *reader(void *unused)
{
	uint64_t v[8];

	do {
		/* EBADF is expected, as another thread closes the fd; other errors are not */
		if (read(shared, v, sizeof(v)) < 0 && errno != EBADF)
			return (void *)-1;
	} while (!stop);
	return NULL;
}

/* Read, control and close the same fd number concurrently */
TEST(close_while_others_use_it)
{
	ROWS("O-28");
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	uint64_t end = now_ns() + 1000000000;
	pthread_t t[2];
	void *ret;
	int fd, i;

	shared = ev_must(&a, 0, -1, -1, 0);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(pthread_create(&t[i], NULL, reader, NULL), 0);
	while (now_ns() < end) {
		close(shared);
		fd = ev_must(&a, 0, -1, -1, 0);
		if (fd != shared) {
			ASSERT_EQ(dup2(fd, shared), shared);
			close(fd);
		}
		ioctl(shared, PERF_EVENT_IOC_ENABLE, 0);
		ioctl(shared, PERF_EVENT_IOC_RESET, 0);
	}
	stop = 1;
	for (i = 0; i < 2; i++) {
		pthread_join(t[i], &ret);
		EXPECT_EQ(ret, NULL);
	}
}

static void *controller(void *arg)
{
	unsigned long flag = (unsigned long)arg;

	while (!stop) {
		ioctl(shared, PERF_EVENT_IOC_ENABLE, flag);
		ioctl(shared, PERF_EVENT_IOC_DISABLE, flag);
		ioctl(shared, PERF_EVENT_IOC_RESET, flag);
	}
	return NULL;
}

/* Close and reopen the leader while other threads control and read its group */
TEST(close_leader_while_others_use_members)
{
	ROWS("O-28");
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	uint64_t end = now_ns() + 1000000000;
	pthread_t t[2];
	int lead, i;

	a.read_format = PERF_FORMAT_GROUP;
	lead = ev_must(&a, 0, -1, -1, 0);
	shared = ev_must(&a, 0, -1, lead, 0);
	ASSERT_EQ(pthread_create(&t[0], NULL, controller,
				 (void *)PERF_IOC_FLAG_GROUP), 0);
	ASSERT_EQ(pthread_create(&t[1], NULL, reader, NULL), 0);
	while (now_ns() < end) {
		int new_lead, new_member;

		close(lead);
		new_lead = ev_must(&a, 0, -1, -1, 0);
		new_member = ev_must(&a, 0, -1, new_lead, 0);
		ASSERT_EQ(dup2(new_member, shared), shared);
		close(new_member);
		lead = new_lead;
	}
	stop = 1;
	for (i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
}

TEST_HARNESS_MAIN
