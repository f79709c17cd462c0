package terminal

import (
	"errors"
	"io"
	"os"
)

// console is the console of the process.
type console struct{ in, out *os.File }

// OpenTTY opens the console, whatever the standard streams are.
func OpenTTY() (io.ReadWriteCloser, error) {
	in, err := os.OpenFile("CONIN$", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	out, err := os.OpenFile("CONOUT$", os.O_RDWR, 0)
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return console{in, out}, nil
}

func (c console) Read(p []byte) (int, error)  { return c.in.Read(p) }
func (c console) Write(p []byte) (int, error) { return c.out.Write(p) }
func (c console) Close() error                { return errors.Join(c.in.Close(), c.out.Close()) }

// resizes never sends: consoles have no such signal, and the next change adapts the layout anyway.
func resizes() (resized <-chan os.Signal, stop func()) { return nil, func() {} }

// StayInBackground does nothing: Windows does not stop a process that reads from the terminal.
func StayInBackground() {}
