//go:build amd64 || arm64

package shell

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// newestCall is the newest system call that this table knows. Newer calls fail with ENOSYS.
const newestCall = unix.SYS_RSEQ_SLICE_YIELD

// refusedCalls are the system calls, on every architecture, that a reading command does not need. Landlock prevents
// writing but does not cover these.
func refusedCalls() []uint32 {
	return []uint32{
		// Modes, owners, times and attributes of files, without opening the file; locks, quotas and nodes.
		unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT,
		unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_SETXATTRAT, unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR,
		unix.SYS_FREMOVEXATTR, unix.SYS_REMOVEXATTRAT, unix.SYS_FILE_SETATTR, unix.SYS_TRUNCATE, unix.SYS_MKNODAT, unix.SYS_QUOTACTL,
		unix.SYS_QUOTACTL_FD, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_FANOTIFY_INIT,
		// Sockets, and objects that would outlive the command.
		unix.SYS_SOCKET, unix.SYS_SOCKETPAIR, unix.SYS_CONNECT, unix.SYS_BIND, unix.SYS_LISTEN, unix.SYS_ACCEPT, unix.SYS_ACCEPT4,
		unix.SYS_SETSID, unix.SYS_SHMGET, unix.SYS_SHMCTL, unix.SYS_SEMGET, unix.SYS_SEMCTL, unix.SYS_MSGGET, unix.SYS_MSGCTL,
		unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
		// Other processes.
		unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE, unix.SYS_PROCESS_MRELEASE,
		unix.SYS_PIDFD_GETFD, unix.SYS_KCMP, unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES,
		// Programs that are not files, and calls that bypass this filter.
		unix.SYS_EXECVEAT, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_USERFAULTFD,
		unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_PERSONALITY,
		// Namespaces and mounts.
		unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_FSOPEN,
		unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_MOVE_MOUNT,
		unix.SYS_MOUNT_SETATTR,
		// The system.
		unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_REBOOT,
		unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_SYSLOG, unix.SYS_VHANGUP, unix.SYS_SETHOSTNAME,
		unix.SYS_SETDOMAINNAME, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX,
	}
}

// condition refuses a call depending on one of its arguments, of which only the lower 32 bits are checked.
type condition struct {
	call, argument uint32
	bits           uint32   // refuse if any of them is set; 0: check values
	refused        bool     // refuse these values, not all others
	values         []uint32 // used if bits is 0
}

func conditions() []condition {
	const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER |
		unix.CLONE_NEWPID | unix.CLONE_NEWNET
	itself := []uint32{0}
	const fionbio, fionclex, fioclex = 0x5421, 0x5450, 0x5451
	return []condition{
		{call: unix.SYS_CLONE, bits: namespaces},
		{call: unix.SYS_PRCTL, refused: true, values: []uint32{unix.PR_SET_MM, unix.PR_SET_CHILD_SUBREAPER, unix.PR_SET_PTRACER,
			unix.PR_SET_SECUREBITS}},
		{call: unix.SYS_PRLIMIT64, values: itself},
		{call: unix.SYS_SETPRIORITY, argument: 1, values: itself},
		{call: unix.SYS_IOPRIO_SET, argument: 1, values: itself},
		{call: unix.SYS_SCHED_SETAFFINITY, values: itself}, {call: unix.SYS_SCHED_SETSCHEDULER, values: itself},
		{call: unix.SYS_SCHED_SETPARAM, values: itself}, {call: unix.SYS_SCHED_SETATTR, values: itself},
		// Querying a terminal, a file or a pipe. Other requests push input into a terminal or change a file's flags.
		{call: unix.SYS_IOCTL, argument: 1, values: []uint32{unix.TCGETS, unix.TCGETS2, unix.TIOCGWINSZ, unix.TIOCGPGRP, unix.TIOCGSID,
			unix.TIOCINQ, fionbio, fioclex, fionclex, unix.FS_IOC_GETFLAGS, unix.BLKGETSIZE64}},
	}
}

// Offsets in struct seccomp_data, the filter's view of a call.
const (
	atNumber, atArchitecture, atArguments = 0, 4, 16

	load   = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	equal  = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	above  = unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K
	shares = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
)

func answer(action uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action}
}

// program assembles the filter. It kills a process that makes a call of another architecture, where numbers mean other
// calls.
func program() []unix.SockFilter {
	allow, refuse := answer(unix.SECCOMP_RET_ALLOW), answer(unix.SECCOMP_RET_ERRNO|uint32(unix.EPERM))
	none := answer(unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS))
	list := []unix.SockFilter{
		{Code: load, K: atArchitecture}, {Code: equal, Jt: 1, K: architecture}, answer(unix.SECCOMP_RET_KILL_PROCESS),
		{Code: load, K: atNumber}, {Code: above, Jf: 1, K: newestCall}, none,
	}
	for _, call := range slices.Concat(refusedCalls(), ownRefused()) {
		list = append(list, unix.SockFilter{Code: equal, Jf: 1, K: call}, refuse)
	}
	for _, call := range []uint32{unix.SYS_CLONE3, unix.SYS_MEMFD_CREATE, unix.SYS_MEMFD_SECRET} { // programs can do without these
		list = append(list, unix.SockFilter{Code: equal, Jf: 1, K: call}, none)
	}
	for _, c := range conditions() {
		body := []unix.SockFilter{{Code: load, K: atArguments + 8*c.argument}}
		found, other := allow, refuse
		if c.bits != 0 {
			body, found, other = append(body, unix.SockFilter{Code: shares, Jf: 1, K: c.bits}), refuse, allow
		} else if c.refused {
			found, other = refuse, allow
		}
		for i, value := range c.values {
			behind := uint8(len(c.values) - i - 1) // skips the other values, then the answer found
			body = append(body, unix.SockFilter{Code: equal, Jt: behind, K: value})
			if behind == 0 {
				body[len(body)-1].Jf = 1
			}
		}
		body = append(body, found, other)
		list = append(append(list, unix.SockFilter{Code: equal, Jf: uint8(len(body)), K: c.call}), body...)
	}
	return append(list, allow)
}

// refuseCalls refuses the system calls to this process and its future children for good. Without filters in the kernel
// it does nothing.
func refuseCalls() error {
	list := program()
	filter := unix.SockFprog{Len: uint16(len(list)), Filter: &list[0]}
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&filter)))
	if errno != 0 && !errors.Is(errno, unix.ENOSYS) && !errors.Is(errno, unix.EINVAL) {
		return fmt.Errorf("refuse system calls: %w", errno)
	}
	return nil
}
