package process

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// ShellCommand returns a command in cmd.exe.
func ShellCommand(command string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(os.Getenv("SystemRoot"), "System32", "cmd.exe")) // not the one in the current folder
	// cmd.exe has its own quoting rules: /S keeps the text between the outer quotes unchanged.
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: `cmd.exe /D /S /C "` + command + `"`}
	return cmd
}

// Detach makes cmd, before it starts, survive this process and ignore its terminal's signals.
func Detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// family is a command and all its processes, in a job: no process can leave it, and it ends with its handle.
type family struct {
	job windows.Handle
	pid int
}

// Keep does nothing: a job needs no keeper.
func Keep() {}

// start starts a command in its own job. The command runs no instruction outside the job.
func (*Launcher) start(cmd *exec.Cmd) (*family, error) {
	job, err := newJob()
	if err != nil {
		return nil, err
	}
	cmd.SysProcAttr = cmp.Or(cmd.SysProcAttr, &syscall.SysProcAttr{})
	cmd.SysProcAttr.HideWindow = true
	cmd.SysProcAttr.CreationFlags = windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW | windows.CREATE_SUSPENDED
	if err := cmd.Start(); err != nil {
		_ = windows.CloseHandle(job)
		return nil, err
	}
	if err := assign(job, cmd.Process.Pid); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = windows.CloseHandle(job)
		return nil, fmt.Errorf("put the command into a job: %w", err)
	}
	return &family{job, cmd.Process.Pid}, nil
}

func newJob() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, fmt.Errorf("create a job: %w", err)
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err != nil {
		_ = windows.CloseHandle(job)
		return 0, fmt.Errorf("set up a job: %w", err)
	}
	return job, nil
}

// assign puts a suspended process into a job and resumes it.
func assign(job windows.Handle, pid int) error {
	const suspendResume = 0x0800 // PROCESS_SUSPEND_RESUME
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE|suspendResume, false, uint32(pid))
	if err != nil {
		return err
	}
	defer func() { _ = windows.CloseHandle(process) }()
	if err := windows.AssignProcessToJobObject(job, process); err != nil {
		return err
	}
	resume := windows.NewLazySystemDLL("ntdll.dll").NewProc("NtResumeProcess")
	if status, _, _ := resume.Call(uintptr(process)); status != 0 {
		return windows.NTStatus(status)
	}
	return nil
}

func (f *family) kill() { _ = windows.TerminateJobObject(f.job, 1) }

func (*family) terminate() bool { return false }

// end ends the job and its remaining processes.
func (f *family) end() { _ = windows.CloseHandle(f.job) }

// Space is always the same: this system does not distinguish any.
func Space() string { return "" }

func (f *family) identity() Identity {
	id := Identity{Pid: f.pid}
	if handle, start, err := opened(f.pid); err == nil {
		id.Start = start
		_ = windows.CloseHandle(handle)
	}
	return id
}

// opened opens a process, and returns when it began.
func opened(pid int) (handle windows.Handle, start string, err error) {
	const rights = windows.PROCESS_QUERY_LIMITED_INFORMATION | windows.PROCESS_TERMINATE | windows.SYNCHRONIZE
	if handle, err = windows.OpenProcess(rights, false, uint32(pid)); err != nil {
		return 0, "", err
	}
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(handle, &created, &exited, &kernel, &user); err != nil {
		_ = windows.CloseHandle(handle)
		return 0, "", err
	}
	return handle, strconv.FormatInt(created.Nanoseconds(), 10), nil
}

// Alive reports whether the command runs.
func (id Identity) Alive() bool {
	alive := false
	_ = id.with(func(handle windows.Handle) error {
		state, err := windows.WaitForSingleObject(handle, 0)
		alive = err == nil && state == uint32(windows.WAIT_TIMEOUT)
		return err
	})
	return alive
}

// Kill ends the command, and returns when it is gone. Its other processes are in its job, which ends with the process
// that made it.
func (id Identity) Kill() error {
	return id.with(func(handle windows.Handle) error {
		err := windows.TerminateProcess(handle, 1)
		state, waited := windows.WaitForSingleObject(handle, 2_000)
		if waited != nil || state == uint32(windows.WAIT_TIMEOUT) {
			return fmt.Errorf("end the process %d: %w", id.Pid, errors.Join(err, waited))
		}
		return nil
	})
}

// with calls a function with the process, if it still runs.
func (id Identity) with(call func(windows.Handle) error) error {
	handle, start, err := opened(id.Pid)
	if err != nil {
		return nil
	}
	defer func() { _ = windows.CloseHandle(handle) }()
	if id.Start == "" || start != id.Start {
		return nil
	}
	return call(handle)
}
