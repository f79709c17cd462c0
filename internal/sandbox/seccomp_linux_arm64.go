package sandbox

import "golang.org/x/sys/unix"

const architecture = unix.AUDIT_ARCH_AARCH64

// ownRefused are the refused calls that only this architecture has.
func ownRefused() []uint32 { return nil }

// ownFileCalls are the served calls that only this architecture has.
func ownFileCalls() []uint32 { return nil }

// ownConditions are those of calls that only this architecture has.
func ownConditions() []condition { return nil }

// modern returns the call: this architecture has no older forms.
func modern(n notification) notification { return n }
