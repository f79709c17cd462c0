//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// newestCall is the newest system call that this table knows. Newer calls fail with ENOSYS.
const newestCall = unix.SYS_RSEQ_SLICE_YIELD

// outsideCalls are the system calls that both walls refuse: those that reach beyond every namespace, or that could undo a wall.
func outsideCalls() []uint32 {
	return []uint32{
		unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_FANOTIFY_INIT,
		unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
		// Calls that bypass this filter, or see into the kernel.
		unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_USERFAULTFD, unix.SYS_BPF,
		unix.SYS_PERF_EVENT_OPEN,
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

// uncoveredCalls are the further calls refused under Landlock, which prevents writing but does not cover these.
func uncoveredCalls() []uint32 {
	return []uint32{
		// Attributes and nodes of files, without opening the file.
		unix.SYS_FILE_SETATTR, unix.SYS_TRUNCATE, unix.SYS_MKNODAT,
		// Sockets, and objects that would outlive the command or that others made: their numbers suffice to use them.
		unix.SYS_SOCKET, unix.SYS_CONNECT, unix.SYS_BIND, unix.SYS_LISTEN, unix.SYS_ACCEPT, unix.SYS_ACCEPT4,
		unix.SYS_SHMGET, unix.SYS_SHMCTL, unix.SYS_SEMGET, unix.SYS_SEMCTL, unix.SYS_MSGGET, unix.SYS_MSGCTL, unix.SYS_MQ_OPEN,
		unix.SYS_SHMAT, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_MSGSND, unix.SYS_MSGRCV,
		unix.SYS_MQ_UNLINK, unix.SYS_MQ_TIMEDSEND, unix.SYS_MQ_TIMEDRECEIVE, unix.SYS_MQ_NOTIFY,
		// Other processes.
		unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE, unix.SYS_PROCESS_MRELEASE,
		unix.SYS_PIDFD_GETFD, unix.SYS_KCMP, unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES,
		unix.SYS_SETPRIORITY, unix.SYS_IOPRIO_SET, // of all the user's processes with the number 0
		unix.SYS_EXECVEAT, unix.SYS_PERSONALITY,
	}
}

// attributeCalls set extended attributes. They fail as on a file system without any, which cp and tar accept.
func attributeCalls() []uint32 {
	return []uint32{unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_SETXATTRAT, unix.SYS_REMOVEXATTR,
		unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, unix.SYS_REMOVEXATTRAT}
}

// signalCalls are served under a Landlock that does not cover signals.
func signalCalls() []uint32 {
	return []uint32{unix.SYS_KILL, unix.SYS_TKILL, unix.SYS_TGKILL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO,
		unix.SYS_PIDFD_SEND_SIGNAL}
}

// condition refuses a call depending on one of its arguments, of which only the lower 32 bits are checked.
type condition struct {
	call, argument uint32
	bits           uint32   // refuse if any of them is set; 0: check values
	mask           uint32   // the part of the argument that the values are about; 0: all
	refused        bool     // refuse these values, not all others
	values         []uint32 // used if bits is 0
}

// sockets are the conditions of both walls: no namespaces within, and of a socket's kinds only pairs that are connected for good. A socket
// with a path reaches servers of the machine, whatever the namespace and the mount.
func sockets() []condition {
	const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER |
		unix.CLONE_NEWPID | unix.CLONE_NEWNET
	var connected []uint32
	for _, kind := range []uint32{unix.SOCK_STREAM, unix.SOCK_SEQPACKET} {
		for _, flags := range []uint32{0, unix.SOCK_CLOEXEC, unix.SOCK_NONBLOCK, unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK} {
			connected = append(connected, kind|flags)
		}
	}
	return []condition{{call: unix.SYS_CLONE, bits: namespaces}, {call: unix.SYS_SOCKETPAIR, argument: 1, values: connected}}
}

// looseConditions are those within namespaces, where only these families of sockets are separate.
func looseConditions() []condition {
	return append(sockets(), condition{call: unix.SYS_SOCKET, values: []uint32{unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}})
}

func strictConditions() []condition {
	itself := []uint32{0}
	const fionbio, fionclex, fioclex = 0x5421, 0x5450, 0x5451
	return slices.Concat(sockets(), ownConditions(), []condition{
		truncating(unix.SYS_OPENAT, 2),
		{call: unix.SYS_PRCTL, refused: true, values: []uint32{unix.PR_SET_MM, unix.PR_SET_CHILD_SUBREAPER, unix.PR_SET_PTRACER,
			unix.PR_SET_SECUREBITS}},
		{call: unix.SYS_PRLIMIT64, values: itself},
		{call: unix.SYS_FCNTL, argument: 1, refused: true, values: []uint32{unix.F_SETOWN, unix.F_SETOWN_EX}}, // to get signals
		{call: unix.SYS_SCHED_SETAFFINITY, values: itself}, {call: unix.SYS_SCHED_SETSCHEDULER, values: itself},
		{call: unix.SYS_SCHED_SETPARAM, values: itself}, {call: unix.SYS_SCHED_SETATTR, values: itself},
		// Querying a terminal, a file or a pipe. Other requests push input into a terminal or change a file's flags.
		{call: unix.SYS_IOCTL, argument: 1, values: []uint32{unix.TCGETS, unix.TCGETS2, unix.TIOCGWINSZ, unix.TIOCGPGRP, unix.TIOCGSID,
			unix.TIOCINQ, fionbio, fioclex, fionclex, unix.FS_IOC_GETFLAGS, unix.BLKGETSIZE64}},
	})
}

// truncating refuses to open a file that is truncated and not written: before its version 3, Landlock takes this for reading.
func truncating(call, argument uint32) condition {
	return condition{call: call, argument: argument, mask: unix.O_TRUNC | unix.O_ACCMODE, refused: true,
		values: []uint32{unix.O_TRUNC | unix.O_RDONLY, unix.O_TRUNC | unix.O_ACCMODE}}
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

// looseProgram is the filter within namespaces.
func looseProgram() []unix.SockFilter {
	refused := map[uint32][]uint32{uint32(unix.EPERM): outsideCalls(), uint32(unix.ENOSYS): {unix.SYS_CLONE3}}
	return program(refused, nil, looseConditions())
}

// strictProgram is the filter under a version of Landlock.
func strictProgram(version int) []unix.SockFilter {
	refused := map[uint32][]uint32{
		uint32(unix.EPERM):      slices.Concat(outsideCalls(), uncoveredCalls(), ownRefused()),
		uint32(unix.EOPNOTSUPP): attributeCalls(),
		uint32(unix.ENOSYS):     {unix.SYS_CLONE3, unix.SYS_MEMFD_CREATE, unix.SYS_MEMFD_SECRET, unix.SYS_OPENAT2}, // dispensable
	}
	served := slices.Concat(fileCalls(), ownFileCalls())
	if version < 6 {
		served = append(served, signalCalls()...)
	}
	return program(refused, served, strictConditions())
}

// program assembles a filter that refuses calls with the error they are listed under, passes the served ones to the listener, and checks
// the conditions. It kills a process that makes a call of another architecture, where numbers mean other calls.
func program(refused map[uint32][]uint32, served []uint32, conditions []condition) []unix.SockFilter {
	allow, refuse := answer(unix.SECCOMP_RET_ALLOW), answer(unix.SECCOMP_RET_ERRNO|uint32(unix.EPERM))
	list := []unix.SockFilter{
		{Code: load, K: atArchitecture}, {Code: equal, Jt: 1, K: architecture}, answer(unix.SECCOMP_RET_KILL_PROCESS),
		{Code: load, K: atNumber}, {Code: above, Jf: 1, K: newestCall}, answer(unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)),
	}
	for errno, calls := range refused {
		for _, call := range calls {
			list = append(list, unix.SockFilter{Code: equal, Jf: 1, K: call}, answer(unix.SECCOMP_RET_ERRNO|errno))
		}
	}
	for _, call := range served {
		list = append(list, unix.SockFilter{Code: equal, Jf: 1, K: call}, answer(unix.SECCOMP_RET_USER_NOTIF))
	}
	for _, c := range conditions {
		body := []unix.SockFilter{{Code: load, K: atArguments + 8*c.argument}}
		if c.mask != 0 {
			body = append(body, unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: c.mask})
		}
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

// refuseCalls applies a filter to this thread and its future children for good. If it serves calls, it returns the listener.
func refuseCalls(list []unix.SockFilter, serves bool) (listener int, err error) {
	var flags uintptr
	if serves {
		flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER
	}
	filter := unix.SockFprog{Len: uint16(len(list)), Filter: &list[0]}
	fd, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&filter)))
	if errno != 0 {
		return 0, fmt.Errorf("refuse system calls: %w", errno)
	}
	return int(fd), nil
}
