//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/planloop/planloop/internal/process"
)

// notification and notifyReply are the kernel's struct seccomp_notif and seccomp_notif_resp.
type notification struct {
	id    uint64
	pid   uint32 // of the calling thread
	flags uint32
	nr    int32
	arch  uint32
	ip    uint64
	args  [6]uint64
}

type notifyReply struct {
	id    uint64
	value int64
	errno int32
	flags uint32
}

// server carries out system calls for the command that Landlock does not cover: on files below the private folder, and signals to the
// command's own processes. It acts on a descriptor of its own, so the caller cannot exchange the file in between.
type server struct {
	listener int
	private  string
	root     int // the process of the command; its descendants may be sent signals
}

// fileCalls are the served calls that change a file's mode, owner or times.
func fileCalls() []uint32 {
	return []uint32{unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT}
}

// serveCalls answers the calls that arrive at the listener of a process, until this process ends.
func (j job) serveCalls(pid, listener int) error {
	private, err := filepath.EvalSymlinks(j.Private)
	if err != nil {
		return fmt.Errorf("serve system calls: %w", err)
	}
	s := server{listener: listener, private: private, root: pid}
	go s.serve()
	return nil
}

func (s server) serve() {
	for {
		var n notification
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(s.listener), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&n)))
		switch errno {
		case 0:
		case unix.EINTR, unix.ENOENT: // the calling process has ended
			continue
		default:
			return
		}
		reply := notifyReply{id: n.id}
		if err := s.answer(n, &reply); err != nil {
			reply.flags, reply.errno = 0, -int32(unix.EPERM)
			if errno, ok := errors.AsType[unix.Errno](err); ok {
				reply.errno = -int32(errno)
			}
		}
		_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(s.listener), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&reply)))
	}
}

// answer carries out a call. An error is the call's, EPERM if it has no number.
func (s server) answer(n notification, reply *notifyReply) error {
	if n = modern(n); !isFileCall(n.nr) {
		if !s.isOwn(n) {
			return unix.EPERM
		}
		reply.flags = unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE // its arguments are in registers, so they cannot be exchanged
		return nil
	}
	fd, err := s.open(n)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	path := fdPath(fd)
	name, err := os.Readlink(path)
	if err != nil || name != s.private && !strings.HasPrefix(name, s.private+"/") {
		return unix.EPERM
	}
	var times []unix.Timespec
	if n.nr == unix.SYS_UTIMENSAT {
		if times, err = n.times(); err != nil {
			return err
		}
	}
	valid := n.id
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(s.listener), unix.SECCOMP_IOCTL_NOTIF_ID_VALID,
		uintptr(unsafe.Pointer(&valid))); errno != 0 { // the read bytes may be another process's
		return errno
	}
	const withoutSetID = 0o1777
	switch n.nr {
	case unix.SYS_FCHMOD:
		return unix.Fchmodat(unix.AT_FDCWD, path, uint32(n.args[1])&withoutSetID, 0)
	case unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2:
		return unix.Fchmodat(unix.AT_FDCWD, path, uint32(n.args[2])&withoutSetID, 0)
	case unix.SYS_FCHOWN:
		return keepsOwner(fd, n.args[1], n.args[2])
	case unix.SYS_FCHOWNAT:
		return keepsOwner(fd, n.args[2], n.args[3])
	}
	return unix.UtimesNanoAt(unix.AT_FDCWD, path, times, 0)
}

func isFileCall(nr int32) bool {
	for _, call := range fileCalls() {
		if uint32(nr) == call {
			return true
		}
	}
	return false
}

// keepsOwner refuses to give a file to another owner, whatever this process may do.
func keepsOwner(fd int, uid, gid uint64) error {
	var stat unix.Stat_t
	if err := unix.Fstatat(fd, "", &stat, unix.AT_EMPTY_PATH); err != nil {
		return err
	}
	const same = ^uint32(0)
	if u, g := uint32(uid), uint32(gid); u != same && u != stat.Uid || g != same && g != stat.Gid {
		return unix.EPERM
	}
	return nil
}

// cwd is AT_FDCWD as a system call's argument.
const cwd = 1<<64 + unix.AT_FDCWD

// open returns a descriptor of the file that a call is about, opened as a path only.
func (s server) open(n notification) (int, error) {
	folder, named, flags := n.args[0], true, uint64(0)
	switch n.nr {
	case unix.SYS_FCHMOD, unix.SYS_FCHOWN:
		named = false
	case unix.SYS_FCHMODAT2, unix.SYS_UTIMENSAT:
		flags = n.args[3]
	case unix.SYS_FCHOWNAT:
		flags = n.args[4]
	}
	name := ""
	if named && n.args[1] != 0 {
		var err error
		if name, err = n.text(n.args[1]); err != nil {
			return 0, err
		}
		if name == "" && flags&unix.AT_EMPTY_PATH == 0 {
			return 0, unix.ENOENT
		}
	}
	at := fmt.Sprintf("/proc/%d/fd/%d", n.pid, int32(folder))
	if int32(folder) == unix.AT_FDCWD {
		at = fmt.Sprintf("/proc/%d/cwd", n.pid)
	}
	for _, own := range []string{"/proc/self/fd/", "/dev/fd/"} { // in the caller they mean its own
		if number, ok := strings.CutPrefix(name, own); ok {
			if _, err := strconv.ParseUint(number, 10, 31); err != nil {
				return 0, unix.ENOENT
			}
			at, name = fmt.Sprintf("/proc/%d/fd/%s", n.pid, number), ""
		}
	}
	base, err := unix.Open(at, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil || name == "" {
		return base, err
	}
	defer func() { _ = unix.Close(base) }()
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_MAGICLINKS}
	if flags&unix.AT_SYMLINK_NOFOLLOW != 0 {
		how.Flags |= unix.O_NOFOLLOW
	}
	return unix.Openat2(base, name, &how)
}

func fdPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// read reads from the caller's memory; fewer bytes if it ends there.
func (n notification) read(at uint64, length int) ([]byte, error) {
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", n.pid))
	if err != nil {
		return nil, err
	}
	defer func() { _ = memory.Close() }()
	data := make([]byte, length)
	read, err := memory.ReadAt(data, int64(at))
	if read == 0 && err != nil {
		return nil, unix.EFAULT
	}
	return data[:read], nil
}

func (n notification) text(at uint64) (string, error) {
	data, err := n.read(at, unix.PathMax)
	if err != nil {
		return "", err
	}
	end := bytes.IndexByte(data, 0)
	if end < 0 {
		return "", unix.ENAMETOOLONG
	}
	return string(data[:end]), nil
}

// times returns the times that utimensat sets; nil means now.
func (n notification) times() ([]unix.Timespec, error) {
	if n.args[2] == 0 {
		return nil, nil
	}
	data, err := n.read(n.args[2], 32)
	if err != nil || len(data) < 32 {
		return nil, unix.EFAULT
	}
	word := func(i int) int64 { return int64(binary.NativeEndian.Uint64(data[8*i:])) }
	return []unix.Timespec{{Sec: word(0), Nsec: word(1)}, {Sec: word(2), Nsec: word(3)}}, nil
}

// isOwn reports whether a signal goes to a process of the command, or is none.
func (s server) isOwn(n notification) bool {
	target, sent := int(int32(n.args[0])), n.args[1]
	switch n.nr {
	case unix.SYS_TGKILL, unix.SYS_RT_TGSIGQUEUEINFO:
		sent = n.args[2]
	case unix.SYS_PIDFD_SEND_SIGNAL:
		return false // programs use kill instead
	}
	if sent == 0 || target == 0 { // 0: the caller's group, which the command made
		return true
	}
	if target < 0 {
		target = -target // a group lives as long as its leader, or is refused
	}
	return target != 1 && s.descends(target)
}

func (s server) descends(pid int) bool {
	if pid == s.root {
		return true
	}
	for _, ancestor := range process.AncestorsOf(pid) {
		if ancestor.PID == s.root {
			return true
		}
	}
	return false
}
