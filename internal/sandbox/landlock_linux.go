//go:build amd64 || arm64

package sandbox

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// buildLandlock allows this thread to write below the private folder only, to read all files but devices, and to do nothing that Landlock
// does not cover. It returns the listener for the system calls that serveCalls answers.
func (j job) buildLandlock() (listener int, err error) {
	version := landlockVersion()
	if version == 0 {
		return 0, errors.New("the kernel has none")
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("give up new privileges: %w", err)
	}
	taken := changing(version)
	taken.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_READ_FILE
	grants, err := readable()
	if err != nil {
		return 0, err
	}
	grants[j.Private] = taken.Handled_access_fs
	grants[os.DevNull] |= taken.Handled_access_fs & (unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE)
	if err := landlock(taken, grants); err != nil {
		return 0, err
	}
	if err := dropCapabilities(1 << unix.CAP_DAC_READ_SEARCH); err != nil {
		return 0, err
	}
	return refuseCalls(strictProgram(version), true)
}

// readable grants reading all files but devices, whose reading may act on them: it takes the input of a terminal.
func readable() (map[string]uint64, error) {
	entries, err := os.ReadDir("/")
	if err != nil {
		return nil, err
	}
	paths := []string{"/dev/shm"}
	for _, entry := range entries {
		if entry.Name() != "dev" {
			paths = append(paths, "/"+entry.Name())
		}
	}
	for name := range strings.FieldsSeq(devices) {
		paths = append(paths, "/dev/"+name)
	}
	grants := map[string]uint64{}
	for _, path := range paths {
		if fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0); err == nil { // a link may be broken
			grants[path] = unix.LANDLOCK_ACCESS_FS_READ_FILE
			_ = unix.Close(fd)
		}
	}
	return grants, nil
}

// dropCapabilities drops all capabilities of this thread but the kept ones.
func dropCapabilities(kept uint32) error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var rights [2]unix.CapUserData
	if err := unix.Capget(&header, &rights[0]); err != nil {
		return fmt.Errorf("read the capabilities: %w", err)
	}
	kept &= rights[0].Permitted
	rights = [2]unix.CapUserData{{Effective: kept, Permitted: kept}}
	if err := unix.Capset(&header, &rights[0]); err != nil {
		return fmt.Errorf("drop the capabilities: %w", err)
	}
	return nil
}

// RunOnly keeps processes that this thread starts from running programs other than these, whatever path names them.
func RunOnly(programs ...string) error {
	if landlockVersion() == 0 {
		return nil
	}
	runtime.LockOSThread()
	grants := map[string]uint64{}
	for _, program := range programs {
		grants[program] = unix.LANDLOCK_ACCESS_FS_EXECUTE
		if loader := interpreter(program); loader != "" {
			grants[loader] = unix.LANDLOCK_ACCESS_FS_EXECUTE
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	return landlock(unix.LandlockRulesetAttr{Handled_access_fs: unix.LANDLOCK_ACCESS_FS_EXECUTE}, grants)
}

// interpreter returns the loader that an ELF program names, "" if it needs none.
func interpreter(program string) string {
	file, err := elf.Open(program)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }()
	for _, part := range file.Progs {
		name := make([]byte, min(part.Filesz, unix.PathMax))
		if part.Type != elf.PT_INTERP {
			continue
		}
		if _, err := part.ReadAt(name, 0); err == nil {
			return strings.TrimRight(string(name), "\x00")
		}
	}
	return ""
}

// landlockVersion returns the kernel's version of Landlock, 0 if it has none.
func landlockVersion() int {
	version, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(version)
}

// changing returns the rights that a version of Landlock can take from a process that should only read: changing files,
// acting on devices, TCP, and reaching outside processes by signals and abstract sockets.
func changing(version int) unix.LandlockRulesetAttr {
	var all unix.LandlockRulesetAttr
	for _, since := range []struct {
		version         int
		files, net, out uint64
	}{
		{version: 1, files: unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
			unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
			unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
			unix.LANDLOCK_ACCESS_FS_MAKE_SYM},
		{version: 2, files: unix.LANDLOCK_ACCESS_FS_REFER},
		{version: 3, files: unix.LANDLOCK_ACCESS_FS_TRUNCATE},
		{version: 4, net: unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP},
		{version: 5, files: unix.LANDLOCK_ACCESS_FS_IOCTL_DEV},
		{version: 6, out: unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL},
	} {
		if version >= since.version {
			all.Handled_access_fs |= since.files
			all.Handled_access_net |= since.net
			all.Scoped |= since.out
		}
	}
	return all
}

// landlock takes rights from the calling thread and its future children for good, except the file rights granted below
// paths.
func landlock(taken unix.LandlockRulesetAttr, grants map[string]uint64) error {
	// An older kernel accepts the longer structure because its unknown end is zero.
	fd, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&taken)), unsafe.Sizeof(taken), 0)
	if errno != 0 {
		return fmt.Errorf("make a ruleset: %w", errno)
	}
	ruleset := int(fd)
	unix.CloseOnExec(ruleset)
	defer func() { _ = unix.Close(ruleset) }()
	for path, rights := range grants {
		if err := grant(ruleset, path, rights); err != nil {
			return fmt.Errorf("allow %s: %w", path, err)
		}
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return fmt.Errorf("restrict: %w", errno)
	}
	return nil
}

func grant(ruleset int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.RawSyscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
