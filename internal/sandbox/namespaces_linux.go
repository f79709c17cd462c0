//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// devices are the files of the private /dev that are the machine's.
const devices = "null zero full random urandom"

// buildNamespaces makes everything read-only that this process, the first of its namespaces, can see, and then drops its privileges. It
// needs no listener.
func (j job) buildNamespaces() (listener int, err error) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return 0, fmt.Errorf("separate the mounts: %w", err)
	}
	lowers := map[string]string{} // of the dropped folders, by their path
	for _, folder := range j.Dropped {
		at, err := pinned(folder)
		if err != nil {
			return 0, err
		}
		lowers[folder] = at
	}
	nodes := map[string]int{}
	for name := range strings.FieldsSeq(devices) {
		node, err := unix.OpenTree(unix.AT_FDCWD, "/dev/"+name, unix.OPEN_TREE_CLONE|unix.O_CLOEXEC)
		if err != nil {
			return 0, fmt.Errorf("take /dev/%s: %w", name, err)
		}
		// Read-only keeps the node's mode and times, not its device.
		attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOEXEC | unix.MOUNT_ATTR_NOSUID}
		if err := unix.MountSetattr(node, "", unix.AT_EMPTY_PATH, &attr); err != nil {
			return 0, fmt.Errorf("keep /dev/%s: %w", name, err)
		}
		nodes[name] = node
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOSUID}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &attr); err != nil {
		return 0, fmt.Errorf("make everything read-only: %w", err)
	}
	err = first(
		func() error { return privateDev(nodes) },
		emptyInput,
		func() error { return j.privateFolders(lowers) },
		func() error { // the machine's own has paths to other processes' files
			return mount("proc", "/proc", "proc", unix.MS_RDONLY|unix.MS_NOEXEC, "")
		},
		loopbackUp,
		func() error { return unix.Chdir(j.Dir) },
		limitProcesses,
		dropBoundingSet,
		j.protectPipes,
		func() error { return dropCapabilities(0) },
		func() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }, // other threads of this process keep their rights
		func() error { _, err := refuseCalls(looseProgram(), false); return err },
	)
	return 0, err
}

func first(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func mount(source, target, kind string, flags uintptr, data string) error {
	if kind == "tmpfs" {
		data = "size=20%," + data // of the memory, as there are up to five
	}
	if err := unix.Mount(source, target, kind, flags|unix.MS_NOSUID|unix.MS_NODEV, data); err != nil {
		return fmt.Errorf("mount %s on %s: %w", kind, target, err)
	}
	return nil
}

// pinned returns a path to a folder that remains valid when something is mounted over it. The descriptor is closed with the process.
func pinned(folder string) (string, error) {
	fd, err := unix.Open(folder, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", fmt.Errorf("open %s: %w", folder, err)
	}
	return fdPath(fd), nil
}

// privateDev replaces /dev: a device that its owner may write to is writable on a read-only mount, too.
func privateDev(nodes map[string]int) error {
	if err := mount("dev", "/dev", "tmpfs", unix.MS_NOEXEC, "size=1m,mode=755"); err != nil {
		return err
	}
	for name, node := range nodes {
		target := "/dev/" + name
		if err := os.WriteFile(target, nil, 0o666); err != nil {
			return err
		}
		if err := unix.MoveMount(node, "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
			return fmt.Errorf("mount %s: %w", target, err)
		}
	}
	links := map[string]string{"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2", "ptmx": "pts/ptmx"}
	for name, target := range links {
		if err := os.Symlink(target, "/dev/"+name); err != nil {
			return err
		}
	}
	if err := errors.Join(os.Mkdir("/dev/shm", 0o777), os.Mkdir("/dev/pts", 0o755)); err != nil {
		return err
	}
	_ = unix.Mount("devpts", "/dev/pts", "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666") // not everywhere allowed
	return mount("shm", "/dev/shm", "tmpfs", 0, "mode=1777")
}

// emptyInput replaces the standard input: its mount is outside, where the mode of the device can be changed.
func emptyInput() error {
	fd, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		err = errors.Join(unix.Dup3(fd, 0, 0), unix.Close(fd))
	}
	if err != nil {
		return fmt.Errorf("replace the standard input: %w", err)
	}
	return nil
}

// privateFolders gives the command a /tmp of its own, its private folder, and the dropped folders with their changes in memory.
func (j job) privateFolders(lowers map[string]string) error {
	if err := mount("changes", "/tmp", "tmpfs", 0, "mode=700"); err != nil { // below the /tmp that the command sees
		return err
	}
	changes, err := pinned("/tmp")
	if err != nil {
		return err
	}
	if err := mount("tmp", "/tmp", "tmpfs", 0, "mode=1777"); err != nil {
		return err
	}
	if strings.HasPrefix(j.Private, "/tmp/") {
		err = os.MkdirAll(j.Private, 0o700)
	} else {
		err = mount("tmp", j.Private, "tmpfs", 0, "mode=700")
	}
	for i, folder := range j.Dropped {
		upper, work := filepath.Join(changes, strconv.Itoa(i)), filepath.Join(changes, strconv.Itoa(i)+".work")
		err = errors.Join(err, os.MkdirAll(folder, 0o700), os.Mkdir(upper, 0o700), os.Mkdir(work, 0o700))
		if err == nil {
			err = overlay(lowers[folder], upper, work, folder)
		}
	}
	return err
}

// overlay mounts lower on target, with changes going to upper.
func overlay(lower, upper, work, target string) error {
	data := "lowerdir=" + lower + ",upperdir=" + upper + ",workdir=" + work
	if unix.Mount("overlay", target, "overlay", unix.MS_NOSUID|unix.MS_NODEV, data+",userxattr") == nil {
		return nil
	}
	return mount("overlay", target, "overlay", 0, data)
}

// protectPipes allows to open files for writing where changes are dropped only: a read-only mount does not protect named pipes.
func (j job) protectPipes() error {
	if landlockVersion() < 2 { // it would keep files from moving between folders
		return nil
	}
	const written, moved = unix.LANDLOCK_ACCESS_FS_WRITE_FILE, unix.LANDLOCK_ACCESS_FS_REFER
	grants := map[string]uint64{"/": moved}
	for _, folder := range append(j.Dropped, j.Private, "/tmp", "/dev") {
		grants[folder] = written | moved
	}
	return landlock(unix.LandlockRulesetAttr{Handled_access_fs: written | moved}, grants)
}

// loopbackUp starts the private loopback interface, which tests listen on.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("start the loopback: %w", err)
	}
	defer func() { _ = unix.Close(fd) }()
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request); err != nil {
		return fmt.Errorf("start the loopback: %w", err)
	}
	return nil
}

// dropBoundingSet keeps programs from gaining capabilities as they start.
func dropBoundingSet() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("drop the ambient capabilities: %w", err)
	}
	for capability := range uintptr(64) {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("drop capability %d: %w", capability, err)
		}
	}
	return nil
}
