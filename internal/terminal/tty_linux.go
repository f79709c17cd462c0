package terminal

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// DropTyped forgets what was typed into a terminal and not read yet. A pipe keeps it.
func DropTyped(tty io.ReadWriter) {
	file, ok := tty.(*os.File)
	if !ok {
		return
	}
	if conn, err := file.SyscallConn(); err == nil {
		_ = conn.Control(func(fd uintptr) { _ = unix.IoctlSetInt(int(fd), unix.TCFLSH, unix.TCIFLUSH) })
	}
}
