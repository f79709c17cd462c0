package shell_test

import (
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/planloop/planloop/internal/shell"
)

// withoutLandlock makes the kernel look like one without Landlock, if the process was asked to.
func withoutLandlock() {
	if os.Getenv("WITHOUT_LANDLOCK") == "" {
		return
	}
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}, // the number of the call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: unix.SYS_LANDLOCK_CREATE_RULESET},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		panic(err)
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&program))); errno != 0 {
		panic(errno)
	}
}

// TestWithoutLandlock: git is kept from running programs without the kernel's help.
func TestWithoutLandlock(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs the tests of git once more")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestGit")
	cmd.Env = append(os.Environ(), "WITHOUT_LANDLOCK=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	probe := exec.Command(os.Args[0], "-test.run=^TestCommandCannotWriteWhenConfined$", "-test.v")
	probe.Env = cmd.Env
	if out, err := probe.CombinedOutput(); err != nil || !strings.Contains(string(out), "SKIP") {
		t.Errorf("there was a Landlock, or it did more: %v\n%s", err, out)
	}
}

var (
	attack = flag.String("attack", "", "the `FOLDER` that TestAttacker attacks")
	within = flag.Bool("within", false, "the attacker is within the wall, where each call can be tried")
)

// harmless names the attacks that are also tried outside the barrier.
const harmless = "fchmodat socket chmod chtimes unix signal environment session adopting"

// calls are made with arguments that every kernel rejects: without the barrier they fail differently.
var calls = map[string]uintptr{
	"fchmod": unix.SYS_FCHMOD, "fchmodat": unix.SYS_FCHMODAT, "fchmodat2": unix.SYS_FCHMODAT2, "fchown": unix.SYS_FCHOWN,
	"fchownat": unix.SYS_FCHOWNAT, "utimensat": unix.SYS_UTIMENSAT, "setxattr": unix.SYS_SETXATTR, "lsetxattr": unix.SYS_LSETXATTR,
	"fsetxattr": unix.SYS_FSETXATTR, "removexattr": unix.SYS_REMOVEXATTR, "setxattrat": unix.SYS_SETXATTRAT,
	"file_setattr": unix.SYS_FILE_SETATTR, "truncate": unix.SYS_TRUNCATE, "mknodat": unix.SYS_MKNODAT,
	"open_by_handle_at": unix.SYS_OPEN_BY_HANDLE_AT, "socket": unix.SYS_SOCKET, "socketpair": unix.SYS_SOCKETPAIR,
	"connect": unix.SYS_CONNECT, "bind": unix.SYS_BIND, "setsid": unix.SYS_SETSID, "shmget": unix.SYS_SHMGET, "semget": unix.SYS_SEMGET,
	"msgget": unix.SYS_MSGGET, "mq_open": unix.SYS_MQ_OPEN, "add_key": unix.SYS_ADD_KEY, "keyctl": unix.SYS_KEYCTL,
	"ptrace": unix.SYS_PTRACE, "process_vm_readv": unix.SYS_PROCESS_VM_READV, "process_vm_writev": unix.SYS_PROCESS_VM_WRITEV,
	"pidfd_getfd": unix.SYS_PIDFD_GETFD, "execveat": unix.SYS_EXECVEAT, "io_uring_setup": unix.SYS_IO_URING_SETUP,
	"io_uring_enter": unix.SYS_IO_URING_ENTER, "io_uring_register": unix.SYS_IO_URING_REGISTER, "userfaultfd": unix.SYS_USERFAULTFD,
	"bpf": unix.SYS_BPF, "perf_event_open": unix.SYS_PERF_EVENT_OPEN, "personality": unix.SYS_PERSONALITY, "unshare": unix.SYS_UNSHARE,
	"setns": unix.SYS_SETNS, "mount": unix.SYS_MOUNT, "umount2": unix.SYS_UMOUNT2, "pivot_root": unix.SYS_PIVOT_ROOT,
	"chroot": unix.SYS_CHROOT, "fsopen": unix.SYS_FSOPEN, "open_tree": unix.SYS_OPEN_TREE, "move_mount": unix.SYS_MOVE_MOUNT,
	"mount_setattr": unix.SYS_MOUNT_SETATTR, "kexec_load": unix.SYS_KEXEC_LOAD, "init_module": unix.SYS_INIT_MODULE,
	"finit_module": unix.SYS_FINIT_MODULE, "delete_module": unix.SYS_DELETE_MODULE, "reboot": unix.SYS_REBOOT,
	"swapon": unix.SYS_SWAPON, "acct": unix.SYS_ACCT, "sethostname": unix.SYS_SETHOSTNAME, "settimeofday": unix.SYS_SETTIMEOFDAY,
	"clock_settime": unix.SYS_CLOCK_SETTIME,
}

// TestAttacker is the confined command: it tries the attacks and prints those that were not refused.
func TestAttacker(t *testing.T) {
	if *attack == "" {
		t.Skip("it is run by TestWall")
	}
	const none = ^uintptr(0) // no descriptor, no address
	for name, number := range calls {
		if !*within && !slices.Contains(strings.Fields(harmless), name) {
			continue
		}
		if _, _, errno := unix.RawSyscall6(number, none, none, none, none, none, none); errno != unix.EPERM {
			fmt.Printf("passed: %s: %v\n", name, errno)
		}
	}
	kept := filepath.Join(*attack, "kept")
	file, err := os.Open(kept)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(string(must(os.ReadFile(filepath.Join(*attack, "pid")))))
	if err != nil {
		t.Fatal(err)
	}
	for name, try := range attacks(kept, pid, file) {
		if !*within && !slices.Contains(strings.Fields(harmless), name) {
			continue
		}
		if err := try(); err == nil {
			fmt.Printf("passed: %s\n", name)
		}
	}
}

func must(data []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return data
}

// attacks are real attempts on a file and a process outside.
func attacks(kept string, pid int, file *os.File) map[string]func() error {
	dialled := func(network, address string) func() error {
		return func() error {
			c, err := net.DialTimeout(network, address, time.Second)
			if err == nil {
				_ = c.Close()
			}
			return err
		}
	}
	prctl := func(option int, argument uintptr) func() error {
		return func() error { return unix.Prctl(option, argument, 0, 0, 0) }
	}
	started := func(attributes *syscall.SysProcAttr) func() error {
		return func() error {
			cmd := exec.Command("/bin/true")
			cmd.SysProcAttr = attributes
			return cmd.Run()
		}
	}
	flags := 0x40 // FS_NODUMP_FL
	return map[string]func() error{
		"chmod": func() error { return os.Chmod(kept, 0o777) }, "chown": func() error { return os.Chown(kept, 1, 1) },
		"chtimes": func() error { return os.Chtimes(kept, time.Unix(1, 0), time.Unix(1, 0)) },
		"fchmod":  func() error { return file.Chmod(0o777) }, "truncate": func() error { return os.Truncate(kept, 0) },
		"setxattr": func() error { return unix.Setxattr(kept, "user.x", []byte("x"), 0) },
		"write":    func() error { return os.WriteFile(kept, nil, 0o600) }, "remove": func() error { return os.Remove(kept) },
		"rename": func() error { return os.Rename(kept, kept+"2") }, "link": func() error { return os.Link(kept, kept+"2") },
		"symlink":          func() error { return os.Symlink(kept, kept+"2") },
		"link into temp":   func() error { return os.Link(kept, filepath.Join(os.TempDir(), "x")) },
		"rename into temp": func() error { return os.Rename(kept, filepath.Join(os.TempDir(), "x")) },
		"truncate by open": func() error {
			fd, err := unix.Open(kept, unix.O_RDONLY|unix.O_TRUNC, 0)
			_ = unix.Close(fd)
			return err
		},
		"flags of a file": func() error { return unix.IoctlSetPointerInt(int(file.Fd()), unix.FS_IOC_SETFLAGS, flags) },
		"input of a terminal": func() error {
			if _, _, errno := unix.Syscall(unix.SYS_IOCTL, 0, unix.TIOCSTI, uintptr(unsafe.Pointer(&flags))); errno != unix.EPERM {
				return nil
			}
			return unix.EPERM
		},
		"git of the command": func() error {
			return os.WriteFile(filepath.Join(filepath.Dir(os.TempDir()), "bin", "x"), nil, 0o600)
		},
		"tcp": dialled("tcp", "127.0.0.1:9"), "udp": dialled("udp", "127.0.0.1:9"),
		"unix": dialled("unix", filepath.Join(filepath.Dir(kept), "s")), "abstract": dialled("unix", "@planloop"),
		"memory": func() error { _, err := unix.MemfdCreate("x", 0); return err },
		"signal": func() error { return unix.Kill(pid, 0) }, "signal of a thread": func() error { return unix.Tgkill(pid, pid, 0) },
		"limits":      func() error { return unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 100, Max: 100}, nil) },
		"priority":    func() error { return unix.Setpriority(unix.PRIO_PROCESS, pid, 19) },
		"processors":  func() error { return unix.SchedSetaffinity(pid, &unix.CPUSet{1}) },
		"environment": func() error { _, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)); return err },
		"memory of":   func() error { _, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid)); return err },
		"adopting":    prctl(unix.PR_SET_CHILD_SUBREAPER, 1), "tracer": prctl(unix.PR_SET_PTRACER, ^uintptr(0)),
		"user namespace": started(&syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}),
		"pid namespace":  started(&syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID}),
		"session":        started(&syscall.SysProcAttr{Setsid: true}),
		"capabilities": func() error {
			status := string(must(os.ReadFile("/proc/self/status")))
			if strings.Contains(status, "CapEff:\t0000000000000000") || strings.Contains(status, "CapEff:\t0000000000000004") {
				return unix.EPERM
			}
			return nil
		},
	}
}

// TestWall runs the attacker inside the barrier, where every attack fails, and some attacks outside, where they
// succeed.
func TestWall(t *testing.T) {
	if exec.Command(os.Args[0], "-test.run=^$").Run() != nil {
		t.Skip("the test binary cannot be started")
	}
	dir := t.TempDir()
	kept := filepath.Join(dir, "kept")
	if err := os.WriteFile(kept, []byte("as it was"), 0o600); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(kept)
	if err != nil {
		t.Fatal(err)
	}
	other := exec.Command("sleep", "1000")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = other.Process.Kill(), other.Wait() }()
	if err := os.WriteFile(filepath.Join(dir, "pid"), []byte(strconv.Itoa(other.Process.Pid)), 0o600); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	attacker := `"` + os.Args[0] + `"` + " -test.run='^TestAttacker$' -attack=" + dir
	got := run(t, dir, attacker+" -within", limited(t, func(o *shell.RunOptions) { o.Timeout = 20 * time.Second }))
	if !got.Confined {
		t.Skip("this system has nothing to confine a command with")
	}
	if strings.Contains(got.Stdout, "passed:") || got.ExitCode != 0 || !strings.Contains(got.Stdout, "PASS") {
		t.Errorf("%+v", got)
	}
	after, err := os.Stat(kept)
	if err != nil || after.Mode() != before.Mode() || !after.ModTime().Equal(before.ModTime()) || after.Size() != before.Size() {
		t.Errorf("%v, %v, %v", before, after, err)
	}
	out, err := exec.CommandContext(t.Context(), "timeout", "20", "bash", "-c", attacker).CombinedOutput()
	for name := range strings.FieldsSeq(harmless) {
		if !strings.Contains(string(out), "passed: "+name) {
			t.Errorf("outside the wall, too, it cannot do %s: %v\n%s", name, err, out)
		}
	}
}

// TestWallLetsProgramsRead: the acts that programs read with work inside.
func TestWallLetsProgramsRead(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts compilers")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\nimport _ \"net\"\nfunc main() {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module m\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for command, part := range map[string]string{
		"cat <<< $(seq 20000) | wc -c": "108894", "ls -l main.go": "main.go", "sort -S 1k <(seq 50000) | tail -1": "9999",
		"timeout 5 nice -n 5 echo x": "x", "find . -name '*.go' -exec grep -c package {} +": "1", "stat -c %s main.go": "43",
		"tar -cf - main.go | tar -tf -": "main.go", "ls | (sleep 0.1; cat) | xargs -P2 -n1 echo": "main.go", "ps -o comm= -p $$; :": "bash",
		"file main.go || true; echo x": "x", "go list -deps ./... | tail -1": "m", "go env GOPROXY": "off", "go doc net.Conn": "type Conn",
		"rg -n package . || grep -rn package .": "main.go", "git version": "git version",
	} {
		program, _, _ := strings.Cut(command, " ")
		if _, err := exec.LookPath(program); err != nil {
			continue
		}
		if got := run(t, dir, command, confined(t)); got.ExitCode != 0 || !strings.Contains(got.Stdout, part) {
			t.Errorf("%s: %+v", command, got)
		}
	}
}
