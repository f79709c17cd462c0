package shell

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"unsafe"
)

// confineName is what the launcher is called as: argv[0] of the child.
const confineName = "planloop-confine"

// The system calls and rights of Landlock, as in linux/landlock.h. The numbers of
// the calls are the same on every architecture that Go builds for.
const (
	sysCreateRuleset = 444
	sysAddRule       = 445
	sysRestrictSelf  = 446
	versionQuery     = 1
	pathBeneath      = 1
	prSetNoNewPrivs  = 38

	fsWriteFile  = 1 << 1
	fsRemoveDir  = 1 << 4
	fsMakeSymbol = 1 << 12
	fsRefer      = 1 << 13
	fsTruncate   = 1 << 14
	fsIoctlDev   = 1 << 15
	netTCP       = 1<<0 | 1<<1
	scopeAll     = 1<<0 | 1<<1

	openPath = 0x200000 // O_PATH
)

// landlockVersion returns which version of Landlock the kernel has, 0 for none.
func landlockVersion() int {
	version, _, errno := syscall.RawSyscall(sysCreateRuleset, 0, 0, versionQuery)
	if errno != 0 || version > 1<<16 {
		return 0
	}
	return int(version)
}

// writing is every right of a version that changes files: writing, removing,
// making, moving, truncating, and acting on devices.
func writing(version int) uint64 {
	rights := uint64(fsWriteFile)
	for right := uint64(fsRemoveDir); right <= fsMakeSymbol; right <<= 1 {
		rights |= right
	}
	if version >= 2 {
		rights |= fsRefer
	}
	if version >= 3 {
		rights |= fsTruncate
	}
	if version >= 5 {
		rights |= fsIoctlDev
	}
	return rights
}

// confinedCommand is a command that the launcher confines, if there is one and the
// kernel can.
func confinedCommand(launcher, temp, program string, args ...string) (*exec.Cmd, bool) {
	if launcher == "" || landlockVersion() == 0 {
		return exec.Command(program, args...), false
	}
	cmd := exec.Command(launcher)
	cmd.Args = append([]string{confineName, temp, program}, args...)
	return cmd, true
}

// Confine turns the process into a confined command if it was started as one, and
// does not return then. A program that is a launcher calls it first in main.
func Confine() {
	if len(os.Args) < 3 || os.Args[0] != confineName {
		return
	}
	temp, program := os.Args[1], os.Args[2]
	runtime.LockOSThread() // the restriction is of a thread, and so is the exec after it
	if err := restrict(landlockVersion(), temp); err != nil {
		fmt.Fprintf(os.Stderr, "planloop: the command cannot be confined: %v\n", err)
		os.Exit(126)
	}
	err := syscall.Exec(program, append([]string{"bash"}, os.Args[3:]...), os.Environ())
	fmt.Fprintf(os.Stderr, "planloop: start %s: %v\n", program, err)
	os.Exit(127)
}

// restrict takes from the calling thread, for good, the rights to change files
// but for those under temp and /dev/null, and to connect.
func restrict(version int, temp string) error {
	if version == 0 {
		return fmt.Errorf("the kernel has no Landlock")
	}
	rights := writing(version)
	ruleset, err := createRuleset(version, rights)
	if err != nil {
		return err
	}
	if err := allow(ruleset, temp, rights); err != nil {
		return err
	}
	if err := allow(ruleset, "/dev/null", rights&(fsWriteFile|fsTruncate)); err != nil {
		return err
	}
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetNoNewPrivs, 1, 0, 0, 0, 0); errno != 0 {
		return fmt.Errorf("give up new privileges: %w", errno)
	}
	if _, _, errno := syscall.RawSyscall(sysRestrictSelf, uintptr(ruleset), 0, 0); errno != 0 {
		return fmt.Errorf("restrict: %w", errno)
	}
	return syscall.Close(ruleset)
}

func createRuleset(version int, rights uint64) (int, error) {
	attributes := [3]uint64{rights}
	size := uintptr(8)
	if version >= 4 {
		attributes[1], size = netTCP, 16
	}
	if version >= 6 {
		attributes[2], size = scopeAll, 24
	}
	fd, _, errno := syscall.RawSyscall(sysCreateRuleset, uintptr(unsafe.Pointer(&attributes)), size, 0)
	if errno != 0 {
		return 0, fmt.Errorf("make a ruleset: %w", errno)
	}
	syscall.CloseOnExec(int(fd))
	return int(fd), nil
}

// allow gives back rights under a path.
func allow(ruleset int, path string, rights uint64) error {
	fd, err := syscall.Open(path, openPath|syscall.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer func() { _ = syscall.Close(fd) }()
	var rule [12]byte // packed: the rights, and the descriptor
	binary.NativeEndian.PutUint64(rule[:], rights)
	binary.NativeEndian.PutUint32(rule[8:], uint32(fd))
	if _, _, errno := syscall.RawSyscall6(sysAddRule, uintptr(ruleset), pathBeneath, uintptr(unsafe.Pointer(&rule)), 0, 0, 0); errno != 0 {
		return fmt.Errorf("allow %s: %w", path, errno)
	}
	return nil
}
