package shell

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// confinedCommand returns a command that the launcher confines, and whether the kernel can keep it from writing.
func confinedCommand(launcher, temp, program string, args ...string) (*exec.Cmd, bool) {
	cmd := exec.Command(launcher)
	cmd.Args = append([]string{confineName, temp, program}, args...)
	return cmd, landlockVersion() > 0
}

// become drops from this process every privilege that a reading command does not need, as far as the kernel supports
// it, and then executes the command. The command may write files only below temp.
func become(temp, program string, args []string) error {
	runtime.LockOSThread() // the restrictions apply to the thread, and so does the exec after them
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	if version := landlockVersion(); version > 0 {
		taken := changing(version)
		written := taken.Handled_access_fs & (unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE)
		if err := landlock(taken, map[string]uint64{temp: taken.Handled_access_fs, os.DevNull: written}); err != nil {
			return err
		}
	}
	if err := dropCapabilities(); err != nil {
		return err
	}
	if err := refuseCalls(); err != nil {
		return err
	}
	return fmt.Errorf("start %s: %w", program, unix.Exec(program, append([]string{"bash"}, args...), os.Environ()))
}

// dropCapabilities drops all of root's capabilities except reading every file.
func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var rights [2]unix.CapUserData
	if err := unix.Capget(&header, &rights[0]); err != nil {
		return fmt.Errorf("read the capabilities: %w", err)
	}
	kept := rights[0].Permitted & (1 << unix.CAP_DAC_READ_SEARCH)
	rights = [2]unix.CapUserData{{Effective: kept, Permitted: kept}}
	if err := unix.Capset(&header, &rights[0]); err != nil {
		return fmt.Errorf("drop the capabilities: %w", err)
	}
	return nil
}

// runOnly keeps processes that this thread starts from running programs other than these, whatever path names them.
func runOnly(programs ...string) error {
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
