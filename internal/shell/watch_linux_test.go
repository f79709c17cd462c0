//go:build linux && amd64

package shell_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The parts of seccomp's interface that package unix lacks, as in linux/seccomp.h.
const (
	notifyReceive  = 0xc0502100
	notifyAnswer   = 0xc0182101
	notifyContinue = 1
	listenerFlag   = 1 << 3
	killableFlag   = 1 << 5
	auditX86       = 0xc000003e
)

type notification struct {
	id    uint64
	pid   uint32
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

// pathCalls are the system calls that change a file named by a path: the positions of the path arguments. Each has its
// directory descriptor's position before it, or -1.
func pathCalls() map[int32][][2]int {
	plain, second := [][2]int{{-1, 0}}, [][2]int{{-1, 1}}
	at := [][2]int{{0, 1}}
	return map[int32][][2]int{
		unix.SYS_CREAT: plain, unix.SYS_TRUNCATE: plain, unix.SYS_UNLINK: plain, unix.SYS_RMDIR: plain, unix.SYS_MKDIR: plain,
		unix.SYS_MKNOD: plain, unix.SYS_CHMOD: plain, unix.SYS_CHOWN: plain, unix.SYS_LCHOWN: plain, unix.SYS_UTIME: plain,
		unix.SYS_UTIMES: plain, unix.SYS_SETXATTR: plain, unix.SYS_LSETXATTR: plain, unix.SYS_REMOVEXATTR: plain,
		unix.SYS_LREMOVEXATTR: plain, unix.SYS_RENAME: {{-1, 0}, {-1, 1}}, unix.SYS_LINK: second, unix.SYS_SYMLINK: second,
		unix.SYS_UNLINKAT: at, unix.SYS_MKDIRAT: at, unix.SYS_MKNODAT: at, unix.SYS_FCHMODAT: at, unix.SYS_FCHMODAT2: at,
		unix.SYS_FCHOWNAT: at, unix.SYS_FUTIMESAT: at, unix.SYS_UTIMENSAT: at, unix.SYS_RENAMEAT: {{0, 1}, {2, 3}},
		unix.SYS_RENAMEAT2: {{0, 1}, {2, 3}}, unix.SYS_LINKAT: {{2, 3}}, unix.SYS_SYMLINKAT: {{1, 2}}, setxattrat: at, removexattrat: at,
		fileSetattr: at, unix.SYS_OPENAT2: at,
		// These have only a descriptor.
		unix.SYS_FTRUNCATE: {{0, -1}}, unix.SYS_FCHMOD: {{0, -1}}, unix.SYS_FCHOWN: {{0, -1}}, unix.SYS_FSETXATTR: {{0, -1}},
		unix.SYS_FREMOVEXATTR: {{0, -1}}, unix.SYS_FALLOCATE: {{0, -1}},
	}
}

const (
	setxattrat    = 463
	removexattrat = 466
	fileSetattr   = 469
)

// neverCalls are the system calls that no reading command needs.
func neverCalls() map[int32]string {
	return map[int32]string{
		unix.SYS_MOUNT: "mount", unix.SYS_UMOUNT2: "umount", unix.SYS_PIVOT_ROOT: "pivot_root", unix.SYS_MOVE_MOUNT: "move_mount",
		unix.SYS_MOUNT_SETATTR: "mount_setattr", unix.SYS_FSOPEN: "fsopen", unix.SYS_OPEN_TREE: "open_tree", unix.SYS_SWAPON: "swapon",
		unix.SYS_SWAPOFF: "swapoff", unix.SYS_SETTIMEOFDAY: "settimeofday", unix.SYS_CLOCK_SETTIME: "clock_settime",
		unix.SYS_SETHOSTNAME: "sethostname", unix.SYS_SETDOMAINNAME: "setdomainname", unix.SYS_REBOOT: "reboot",
		unix.SYS_INIT_MODULE: "init_module", unix.SYS_FINIT_MODULE: "finit_module", unix.SYS_DELETE_MODULE: "delete_module",
		unix.SYS_KEXEC_LOAD: "kexec_load", unix.SYS_PTRACE: "ptrace", unix.SYS_PROCESS_VM_WRITEV: "process_vm_writev",
		unix.SYS_BPF: "bpf", unix.SYS_SETNS: "setns", unix.SYS_UNSHARE: "unshare", unix.SYS_CHROOT: "chroot",
		unix.SYS_IO_URING_SETUP: "io_uring_setup", unix.SYS_USERFAULTFD: "userfaultfd", unix.SYS_PERF_EVENT_OPEN: "perf_event_open",
		unix.SYS_ADD_KEY: "add_key", unix.SYS_REQUEST_KEY: "request_key", unix.SYS_QUOTACTL: "quotactl", unix.SYS_ACCT: "acct",
		unix.SYS_SETSID: "setsid", unix.SYS_MEMFD_CREATE: "memfd_create", unix.SYS_SHMGET: "shmget",
		unix.SYS_SEMGET: "semget", unix.SYS_MSGGET: "msgget", unix.SYS_MQ_OPEN: "mq_open", unix.SYS_MQ_UNLINK: "mq_unlink",
		unix.SYS_VHANGUP: "vhangup", unix.SYS_NAME_TO_HANDLE_AT: "name_to_handle_at",
		unix.SYS_OPEN_BY_HANDLE_AT: "open_by_handle_at",
	}
}

const openForWriting = unix.O_WRONLY | unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC | unix.O_APPEND | (unix.O_TMPFILE &^ unix.O_DIRECTORY)

// filter is a kernel filter that asks the watch about each of those calls.
func filter() []unix.SockFilter {
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	is := func(value uint32, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: no, K: value}
	}
	reply := func(what uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: what} }
	has := func(bits uint32, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, Jf: no, K: bits}
	}
	argument := func(n uint32) unix.SockFilter { return load(16 + 8*n) }
	ask := reply(unix.SECCOMP_RET_USER_NOTIF)
	list := []unix.SockFilter{load(4), {Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 1, K: auditX86},
		reply(unix.SECCOMP_RET_KILL_PROCESS), load(0)}
	for nr := range pathCalls() {
		list = append(list, is(uint32(nr), 1), ask)
	}
	for nr := range neverCalls() {
		list = append(list, is(uint32(nr), 1), ask)
	}
	for _, nr := range []uint32{unix.SYS_EXECVE, unix.SYS_EXECVEAT, unix.SYS_SOCKET, unix.SYS_CONNECT, unix.SYS_BIND, unix.SYS_SENDTO,
		unix.SYS_SENDMSG, unix.SYS_SENDMMSG, unix.SYS_KILL, unix.SYS_TKILL, unix.SYS_PIDFD_SEND_SIGNAL} {
		list = append(list, is(nr, 1), ask)
	}
	for nr, flags := range map[uint32]uint32{unix.SYS_OPEN: 1, unix.SYS_OPENAT: 2} {
		list = append(list, is(nr, 4), argument(flags), has(openForWriting, 1), ask, reply(unix.SECCOMP_RET_ALLOW))
	}
	list = append(list, is(unix.SYS_IOCTL, 6), argument(1), is(unix.TIOCSTI, 1), ask, is(unix.FS_IOC_SETFLAGS, 1), ask,
		reply(unix.SECCOMP_RET_ALLOW))
	list = append(list, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, Jf: 1, K: 0x40000000},
		reply(unix.SECCOMP_RET_KILL_PROCESS)) // the calls of x32
	return append(list, reply(unix.SECCOMP_RET_ALLOW))
}

// filtered installs the filter in this process, gives the keeper its listener and becomes the runner.
func filtered() error {
	runtime.LockOSThread()
	for resource, limit := range map[int]uint64{unix.RLIMIT_AS: 8 << 30, unix.RLIMIT_FSIZE: 32 << 20, unix.RLIMIT_CPU: 3600,
		unix.RLIMIT_NPROC: 300, unix.RLIMIT_CORE: 0} {
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			return fmt.Errorf("limit %d: %w", resource, err)
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	list := filter()
	program := unix.SockFprog{Len: uint16(len(list)), Filter: &list[0]}
	listener, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, listenerFlag|killableFlag,
		uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return fmt.Errorf("set up the filter of system calls: %w", errno)
	}
	fmt.Println(listener) // below, this process waits until the keeper has taken the listener
	return syscall.Exec("/proc/self/exe", []string{runnerName}, os.Environ())
}

// watch answers the system calls of every process below the runner: it allows those that only read, and refuses and
// records all others.
type watch struct {
	listener int
	self     string // the program of keeper and runner
	programs map[string]bool
	paths    map[int32][][2]int
	never    map[int32]string

	mu    sync.Mutex
	found []string
}

func newWatch(listener int) *watch {
	self, _ := os.Readlink("/proc/self/exe")
	self = strings.TrimSuffix(self, " (deleted)") // a concurrent build of the next test deletes it
	return &watch{listener: listener, self: self, paths: pathCalls(), never: neverCalls(), programs: harmlessPrograms()}
}

// serve answers until the runner has ended.
func (w *watch) serve() {
	runtime.LockOSThread()
	for {
		var n notification
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(w.listener), notifyReceive, uintptr(unsafe.Pointer(&n)))
		if errno == unix.EINTR || errno == unix.ENOENT { // the process has ended
			continue
		}
		if errno != 0 {
			return
		}
		reply := notifyReply{id: n.id, flags: notifyContinue}
		if what := w.inspect(&n); what != "" {
			reply.flags, reply.errno = 0, -int32(unix.EPERM)
			w.note(fmt.Sprintf("%s: %s", commandLine(n.pid), what))
		}
		_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(w.listener), notifyAnswer, uintptr(unsafe.Pointer(&reply)))
	}
}

func (w *watch) note(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.found) < 5 && !slices.Contains(w.found, what) {
		w.found = append(w.found, what)
	}
}

func (w *watch) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.found = nil
}

func (w *watch) end() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.found
}

// classifier returns the fault of a system call, "" if it is allowed.
func (w *watch) inspect(n *notification) string {
	own := program(n)
	if own == launcher {
		own = w.self
	}
	if own == w.self && n.nr != unix.SYS_EXECVE { // the runner, or its child before it becomes bash
		return ""
	}
	if name, ok := w.never[n.nr]; ok {
		return name
	}
	switch n.nr {
	case unix.SYS_OPEN:
		return w.writes("open for writing", n, -1, 0)
	case unix.SYS_OPENAT:
		return w.writes("open for writing", n, 0, 1)
	case unix.SYS_OPENAT2:
		if flags := word64(n.pid, n.args[2]); flags&openForWriting == 0 {
			return ""
		}
	case unix.SYS_EXECVE:
		return w.executes(n, path(n, -1, 0), n.args[1], own)
	case unix.SYS_EXECVEAT:
		return w.executes(n, path(n, 0, 1), n.args[2], own)
	case unix.SYS_SOCKET:
		switch n.args[0] {
		case unix.AF_UNIX, unix.AF_NETLINK, unix.AF_INET, unix.AF_INET6: // some programs query the network's state with these
			return ""
		}
		return fmt.Sprintf("socket of family %d", n.args[0])
	case unix.SYS_CONNECT, unix.SYS_BIND:
		return speaks(n, n.args[1])
	case unix.SYS_SENDTO:
		return speaks(n, n.args[4])
	case unix.SYS_SENDMSG, unix.SYS_SENDMMSG:
		return speaks(n, word64(n.pid, n.args[1]))
	case unix.SYS_KILL, unix.SYS_TKILL, unix.SYS_PIDFD_SEND_SIGNAL:
		if n.args[1] == 0 || uint32(n.args[0]) == n.pid || slices.Contains([]string{"bash", "zsh", "timeout", "lsof"}, filepath.Base(own)) {
			return ""
		}
		return fmt.Sprintf("kill %d with %d", int32(n.args[0]), n.args[1])
	}
	for _, at := range w.paths[n.nr] {
		if what := w.writes(fmt.Sprintf("system call %d on", n.nr), n, at[0], at[1]); what != "" {
			return what
		}
	}
	return ""
}

// program returns the program that made a call.
func program(n *notification) string {
	own, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", n.pid))
	return strings.TrimSuffix(own, " (deleted)")
}

// writes reports a path that must not be written to.
func (w *watch) writes(how string, n *notification, dir, at int) string {
	name := path(n, dir, at)
	for _, folder := range []string{"/proc/self/fd/", "/dev/fd/", fmt.Sprintf("/proc/%d/fd/", n.pid)} {
		if descriptor, ok := strings.CutPrefix(name, folder); ok {
			name, _ = os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", n.pid, descriptor))
		}
	}
	if info, err := os.Lstat(name); err == nil && info.IsDir() && strings.HasPrefix(how, "open") && !temporary(n) {
		return "" // the call will fail
	}
	switch {
	case name == "/dev/null", name == "/dev/tty" && n.nr == unix.SYS_OPENAT, strings.HasPrefix(name, "pipe:"):
		return ""
	case strings.HasPrefix(filepath.Base(program(n)), "java") &&
		(strings.HasPrefix(name, "/tmp/hsperfdata_") || name == "/proc/self/coredump_filter"):
		return "" // every Java does this
	case strings.HasPrefix(name, tempDir+"/"), strings.HasPrefix(name, goDir+"/") && commandLine(n.pid)[2:4] == "go":
		return ""
	}
	return how + " " + name
}

// temporary reports whether a call opens a new file without a name.
func temporary(n *notification) bool {
	flags := n.args[2]
	if n.nr == unix.SYS_OPEN {
		flags = n.args[1]
	}
	return flags&unix.O_TMPFILE == unix.O_TMPFILE
}

// executes returns the fault of starting a program. A search along the path fails in most folders, which is harmless.
func (w *watch) executes(n *notification, name string, argv uint64, own string) string {
	args := arguments(n.pid, argv)
	if filepath.Base(filepath.Dir(name)) == "bin" && strings.HasPrefix(name, tempDir) { // put there for the command, or missing
		if name, _ = os.Readlink(name); name == "" || name == launcher {
			return ""
		}
	}
	if !strings.HasPrefix(name, worldDir) && !strings.HasPrefix(name, tempDir) {
		if _, err := os.Stat(name); err != nil {
			return ""
		}
		if w.known(name, args, own) {
			return ""
		}
	}
	return fmt.Sprintf("run %s %q", name, args)
}

const goProgram = "/usr/local/go/bin/go"

// known reports whether a program of the machine only reads, with these arguments.
func (w *watch) known(name string, args []string, own string) bool {
	folder, base := filepath.Split(name)
	switch {
	case own == w.self:
		return slices.Contains([]string{"bash", "zsh", "git", "exe"}, base)
	case base == "sh": // programs use it for a few tasks
		return len(args) > 2 && args[1] == "-c" && slices.ContainsFunc(knownScripts(), func(script string) bool {
			return strings.HasPrefix(args[2], script)
		})
	case base == "gcc" && own == goProgram: // go env asks the compiler for its options
		return slices.Contains(args, "-###") || slices.Contains(args, "/dev/null")
	case base == "cc1", base == "as", base == "collect2", base == "ld":
		return strings.HasPrefix(filepath.Base(own), "x86_64-linux-gnu-gcc") || base == "ld"
	case (len(args) == 2 || len(args) == 3 && base == "node") && // many are asked for their version
		slices.Contains([]string{"--version", "-version", "-v", "-V"}, args[len(args)-1]):
		return true
	case strings.HasPrefix(base, "git-"): // some commands of git are scripts
		base = "git " + base[4:]
	}
	return w.programs[base] && slices.Contains(systemFolders(), filepath.Clean(folder))
}

// knownScripts are the scripts that programs run in a shell, under any of its names.
func knownScripts() []string {
	return []string{"man git",
		"git config -z --path --get core.excludesfile 2>/dev/null",
	}
}

func systemFolders() []string {
	return []string{"/bin", "/usr/bin", "/usr/local/bin", "/usr/sbin", "/sbin", "/usr/local/sbin", "/usr/lib/git-core",
		"/usr/libexec/git-core", "/usr/local/go/bin"}
}

// speaks returns the fault of an address that is connected to, sent to or listened on. The name service's cache is a
// local socket and allowed.
func speaks(n *notification, at uint64) string {
	if at == 0 {
		return ""
	}
	address := memory(n.pid, at, 110)
	if len(address) < 2 {
		return "an unknown address"
	}
	switch family := binary.NativeEndian.Uint16(address); family {
	case unix.AF_UNIX:
		name, _, _ := bytes.Cut(address[2:], []byte{0})
		for _, asked := range []string{"/var/run/nscd/", "/run/systemd/", "/run/dbus/"} {
			if strings.HasPrefix(string(name), asked) {
				return ""
			}
		}
		return "connect to " + string(name)
	case unix.AF_NETLINK:
		return ""
	default:
		return fmt.Sprintf("network, family %d: %x", family, address[2:min(len(address), 20)])
	}
}

// path is the cleaned path that an argument of a system call names.
func path(n *notification, dir, at int) string {
	name := ""
	if at >= 0 {
		name = text(n.pid, n.args[at])
	}
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	base := fmt.Sprintf("/proc/%d/cwd", n.pid)
	if dir >= 0 && int32(n.args[dir]) != unix.AT_FDCWD {
		base = fmt.Sprintf("/proc/%d/fd/%d", n.pid, int32(n.args[dir]))
	}
	folder, _ := os.Readlink(base)
	if name == "" {
		return folder
	}
	return filepath.Join(folder, name)
}

// memory reads from a process that waits for an answer.
func memory(pid uint32, at uint64, most int) []byte {
	if at == 0 {
		return nil
	}
	buffer := make([]byte, most)
	total := 0
	for total < most { // one page at a time, since the next may be unmapped
		page := min(most-total, 4096-int((at+uint64(total))%4096))
		local := []unix.Iovec{{Base: &buffer[total], Len: uint64(page)}}
		remote := []unix.RemoteIovec{{Base: uintptr(at) + uintptr(total), Len: page}}
		got, err := unix.ProcessVMReadv(int(pid), local, remote, 0)
		if err != nil || got <= 0 {
			break
		}
		total += got
	}
	return buffer[:total]
}

func text(pid uint32, at uint64) string {
	for _, most := range []int{256, 4096} {
		if before, _, ended := bytes.Cut(memory(pid, at, most), []byte{0}); ended {
			return string(before)
		}
	}
	return ""
}

func word64(pid uint32, at uint64) uint64 {
	if b := memory(pid, at, 8); len(b) == 8 {
		return binary.NativeEndian.Uint64(b)
	}
	return 1 << 63
}

func arguments(pid uint32, argv uint64) []string {
	var list []string
	for i := range uint64(12) {
		at := word64(pid, argv+8*i)
		if at == 0 || at == 1<<63 {
			break
		}
		list = append(list, text(pid, at))
	}
	return list
}

func commandLine(pid uint32) string {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if errors.Is(err, os.ErrNotExist) {
		return "a process that has gone"
	}
	words := strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")
	if len(words) > 8 {
		words = append(words[:8], "…")
	}
	return fmt.Sprintf("%.200q", words)
}
