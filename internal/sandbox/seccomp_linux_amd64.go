package sandbox

import "golang.org/x/sys/unix"

const architecture = unix.AUDIT_ARCH_X86_64

// ownRefused are the refused calls that only this architecture has: older forms, ports, and segments.
func ownRefused() []uint32 {
	return []uint32{unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT, unix.SYS_MKNOD, unix.SYS_IOPL, unix.SYS_IOPERM,
		unix.SYS_MODIFY_LDT, unix.SYS_USELIB, unix.SYS__SYSCTL}
}

// ownFileCalls are the served calls that only this architecture has.
func ownFileCalls() []uint32 { return []uint32{unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN} }

// ownConditions are those of calls that only this architecture has.
func ownConditions() []condition { return []condition{truncating(unix.SYS_OPEN, 1)} }

// modern returns an older call in the form with a directory, which all architectures have.
func modern(n notification) notification {
	older := n.args
	switch n.nr {
	case unix.SYS_CHMOD:
		n.nr, n.args = unix.SYS_FCHMODAT, [6]uint64{cwd, older[0], older[1]}
	case unix.SYS_CHOWN:
		n.nr, n.args = unix.SYS_FCHOWNAT, [6]uint64{cwd, older[0], older[1], older[2]}
	case unix.SYS_LCHOWN:
		n.nr, n.args = unix.SYS_FCHOWNAT, [6]uint64{cwd, older[0], older[1], older[2], unix.AT_SYMLINK_NOFOLLOW}
	}
	return n
}
