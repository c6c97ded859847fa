// SPDX-License-Identifier: GPL-2.0-only

// A Go program.  The Go runtime makes system calls without the C library, moves goroutines between
// threads, and sends signals to its threads at any time.  The program counts a loop in a goroutine
// that is locked to its thread, then in eight such goroutines concurrently.
package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"
	"unsafe"
)

const (
	sysPerfEventOpen = 298
	iocEnable        = 0x2400
	iocDisable       = 0x2401
	rounds           = 1000000
)

// struct perf_event_attr of PERF_ATTR_SIZE_VER0: 64 bytes
type attr struct {
	kind, size   uint32
	config       uint64
	period       uint64
	sampleType   uint64
	readFormat   uint64
	flags        uint64
	wakeup       uint32
	bpType       uint32
	bpAddr       uint64
}

func open(config uint64) (int, error) {
	// disabled, exclude_kernel, exclude_hv
	a := attr{size: 64, config: config, flags: 1 | 1<<5 | 1<<6}
	self, cpu, group := 0, -1, -1
	fd, _, err := syscall.Syscall6(sysPerfEventOpen, uintptr(unsafe.Pointer(&a)),
		uintptr(self), uintptr(cpu), uintptr(group), 8, 0)
	if err != 0 {
		return -1, err
	}
	return int(fd), nil
}

func ioctl(fd int, request uintptr) {
	syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), request, 0)
}

//go:noinline
func loop(n int) (sum uint64) {
	for i := 0; i < n; i++ {
		sum = sum*31 + uint64(i)
	}
	return
}

// Events per round of the loop, rounded, so that the few events of the runtime do not matter
func perRound(config uint64) string {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	fd, err := open(config)
	if err != nil {
		return err.Error()
	}
	defer syscall.Close(fd)
	ioctl(fd, iocEnable)
	loop(rounds)
	ioctl(fd, iocDisable)
	var buf [8]byte
	n, err := syscall.Read(fd, buf[:])
	if n != 8 {
		return fmt.Sprint("read: ", n, " ", err)
	}
	count := binary.LittleEndian.Uint64(buf[:])
	return fmt.Sprint((count + rounds/2) / rounds)
}

func main() {
	var group sync.WaitGroup
	var lines [8]string

	fmt.Println("instructions a round:", perRound(1))
	fmt.Println("branches a round:", perRound(4))
	fmt.Println("no such event:", perRound(77))
	for i := range lines {
		group.Add(1)
		go func(i int) {
			lines[i] = perRound(1)
			group.Done()
		}(i)
	}
	group.Wait()
	fmt.Println("goroutines:", lines)
	_, err := os.Stat("/nowhere")
	fmt.Println(err)
}
