//go:build amd64 || arm64

package sandbox_test

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

	"github.com/planloop/planloop/internal/sandbox"
	"github.com/planloop/planloop/internal/testenv"
)

var (
	attack = flag.String("attack", "", "the `FOLDER` that TestAttacker attacks")
	within = flag.String("within", "", "the `WALL` around the attacker, where each call can be tried")
)

// harmless names the attacks that are also tried outside the barrier.
const harmless = "socket chmod chtimes unix signal environment adopting"

// calls are made with arguments that every kernel rejects: without the barrier they fail differently.
var calls = map[string]uintptr{
	"file_setattr": unix.SYS_FILE_SETATTR, "truncate": unix.SYS_TRUNCATE, "mknodat": unix.SYS_MKNODAT,
	"socket": unix.SYS_SOCKET, "connect": unix.SYS_CONNECT, "bind": unix.SYS_BIND, "shmget": unix.SYS_SHMGET, "semget": unix.SYS_SEMGET,
	"msgget": unix.SYS_MSGGET, "mq_open": unix.SYS_MQ_OPEN, "shmat": unix.SYS_SHMAT, "semop": unix.SYS_SEMOP, "msgsnd": unix.SYS_MSGSND,
	"msgrcv": unix.SYS_MSGRCV, "mq_timedreceive": unix.SYS_MQ_TIMEDRECEIVE, "setpriority": unix.SYS_SETPRIORITY,
	"ioprio_set": unix.SYS_IOPRIO_SET,
	"ptrace":     unix.SYS_PTRACE, "process_vm_readv": unix.SYS_PROCESS_VM_READV, "process_vm_writev": unix.SYS_PROCESS_VM_WRITEV,
	"pidfd_getfd": unix.SYS_PIDFD_GETFD, "execveat": unix.SYS_EXECVEAT, "personality": unix.SYS_PERSONALITY,
}

// neverCalls are refused by both walls.
var neverCalls = map[string]uintptr{
	"open_by_handle_at": unix.SYS_OPEN_BY_HANDLE_AT, "add_key": unix.SYS_ADD_KEY, "keyctl": unix.SYS_KEYCTL,
	"socketpair": unix.SYS_SOCKETPAIR, "io_uring_setup": unix.SYS_IO_URING_SETUP,
	"io_uring_enter": unix.SYS_IO_URING_ENTER, "io_uring_register": unix.SYS_IO_URING_REGISTER, "userfaultfd": unix.SYS_USERFAULTFD,
	"bpf": unix.SYS_BPF, "perf_event_open": unix.SYS_PERF_EVENT_OPEN, "unshare": unix.SYS_UNSHARE,
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
	for _, list := range []map[string]uintptr{calls, neverCalls} {
		for name, number := range list {
			if _, always := neverCalls[name]; !always && *within == string(sandbox.Namespaces) || !tries(name) {
				continue
			}
			if _, _, errno := unix.RawSyscall6(number, none, none, none, none, none, none); errno != unix.EPERM {
				fmt.Printf("passed: %s: %v\n", name, errno)
			}
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
		if !tries(name) {
			continue
		}
		if err := try(); err == nil && !(*within == string(sandbox.Namespaces) && slices.Contains(dropped, name)) {
			fmt.Printf("passed: %s\n", name)
		}
	}
}

// tries reports whether the attacker tries an attack where it is.
func tries(name string) bool {
	return *within != "" || slices.Contains(strings.Fields(harmless), name)
}

// dropped are the attacks that work within namespaces, without any effect outside; a datagram only needs an address.
var dropped = []string{"chmod", "chtimes", "fchmod", "truncate", "setxattr", "write", "remove", "rename", "link", "symlink",
	"truncate by open", "rename into temp", "flags of a file", "memory", "adopting", "tracer", "input of a terminal", "udp",
	"terminal", "truncate by open in temp", "priorities", "owner of signals"}

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
	datagrams := func() error {
		_, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
		return err
	}
	return map[string]func() error{
		"datagrams": datagrams, "raw datagrams": func() error { _, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_RAW, 0); return err },
		"machine": func() error {
			fd, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)
			_ = unix.Close(fd)
			return err
		},
		"terminal":         func() error { f, err := os.Open("/dev/ptmx"); _ = f.Close(); return err },
		"mode of a device": func() error { return os.Chmod("/dev/null", 0o666) },
		"core pattern": func() error {
			f, err := os.OpenFile("/proc/sys/kernel/core_pattern", os.O_WRONLY, 0)
			_ = f.Close()
			return err
		},
		"memory of the first": func() error { f, err := os.OpenFile("/proc/1/mem", os.O_RDWR, 0); _ = f.Close(); return err },
		"trace of the first":  func() error { return unix.PtraceAttach(1) },
		"chmod":               func() error { return os.Chmod(kept, 0o777) }, "chown": func() error { return os.Chown(kept, 1, 1) },
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
		"truncate by open in temp": func() error { // which older kernels allow anywhere
			own := filepath.Join(os.TempDir(), "own")
			fd, err := unix.Open(own, unix.O_RDONLY|unix.O_CREAT|unix.O_TRUNC, 0o600)
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
		"other folder": func() error { return os.WriteFile("/var/tmp/planloop-attack", nil, 0o600) },
		"tcp":          dialled("tcp", "127.0.0.1:9"), "udp": dialled("udp", "127.0.0.1:9"),
		"unix": dialled("unix", filepath.Join(filepath.Dir(kept), "s")), "abstract": dialled("unix", "@planloop"),
		"memory": func() error { _, err := unix.MemfdCreate("x", 0); return err },
		"signal": func() error { return unix.Kill(pid, 0) }, "signal of a thread": func() error { return unix.Tgkill(pid, pid, 0) },
		"limits":     func() error { return unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 100, Max: 100}, nil) },
		"priority":   func() error { return unix.Setpriority(unix.PRIO_PROCESS, pid, 19) },
		"priorities": func() error { return unix.Setpriority(unix.PRIO_USER, 0, 0) },
		"owner of signals": func() error {
			_, err := unix.FcntlInt(file.Fd(), unix.F_SETOWN, os.Getppid())
			return err
		},
		"processors":  func() error { return unix.SchedSetaffinity(pid, &unix.CPUSet{1}) },
		"environment": func() error { _, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)); return err },
		"memory of":   func() error { _, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid)); return err },
		"adopting":    prctl(unix.PR_SET_CHILD_SUBREAPER, 1), "tracer": prctl(unix.PR_SET_PTRACER, ^uintptr(0)),
		"user namespace": started(&syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}),
		"pid namespace":  started(&syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID}),
		"capabilities": func() error {
			status := string(must(os.ReadFile("/proc/self/status")))
			if strings.Contains(status, "CapEff:\t0000000000000000") || strings.Contains(status, "CapEff:\t0000000000000004") {
				return unix.EPERM
			}
			return nil
		},
	}
}

// TestWall runs the attacker within each wall, where every attack fails or is dropped, and some attacks outside, where they succeed.
func TestWall(t *testing.T) {
	for _, wall := range sandbox.Walls() {
		t.Run(string(wall), func(t *testing.T) { testWall(t, wall) })
	}
}

func testWall(t *testing.T, wall sandbox.Wall) {
	dir := t.TempDir()
	kept := filepath.Join(dir, "kept")
	testenv.Check(t, os.WriteFile(kept, []byte("as it was"), 0o600))
	other := exec.Command("sleep", "1000")
	testenv.Check(t, other.Start())
	defer func() { _, _ = other.Process.Kill(), other.Wait() }()
	testenv.Check(t, os.WriteFile(filepath.Join(dir, "pid"), []byte(strconv.Itoa(other.Process.Pid)), 0o600))
	listener, err := net.Listen("unix", filepath.Join(dir, "s"))
	testenv.Check(t, err)
	defer listener.Close()
	attacker := filepath.Join(dir, "attacker") // the test's own folder is not visible within namespaces
	testenv.Check(t, os.WriteFile(attacker, must(os.ReadFile(os.Args[0])), 0o700))
	before := treeOf(t, dir)
	args := []string{attacker, "-test.run=^TestAttacker$", "-attack=" + dir}
	out, code := runWithin(t, wall, dir, append(args, "-within="+string(wall))...)
	if strings.Contains(out, "passed:") || code != 0 || !strings.Contains(out, "PASS") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	if after := treeOf(t, dir); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	outside, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput()
	for name := range strings.FieldsSeq(harmless) {
		if !strings.Contains(string(outside), "passed: "+name) {
			t.Errorf("outside the wall, too, it cannot do %s: %v\n%s", name, err, outside)
		}
	}
}
