package shell

import "golang.org/x/sys/unix"

const architecture = unix.AUDIT_ARCH_X86_64

// ownRefused are the refused calls that only this architecture has: older forms, ports, and segments.
func ownRefused() []uint32 {
	return []uint32{unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT, unix.SYS_MKNOD,
		unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USELIB, unix.SYS__SYSCTL}
}
