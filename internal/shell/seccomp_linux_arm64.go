package shell

import "golang.org/x/sys/unix"

const architecture = unix.AUDIT_ARCH_AARCH64

// ownRefused are the refused calls that only this architecture has.
func ownRefused() []uint32 { return nil }
