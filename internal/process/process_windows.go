package process

import (
	"fmt"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// ShellCommand is a command in the shell there is.
func ShellCommand(command string) *exec.Cmd {
	cmd := exec.Command("cmd.exe")
	// cmd.exe has quoting rules of its own: /S takes what is between the outer quotes as it is.
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: `cmd.exe /D /S /C "` + command + `"`}
	return cmd
}

// Group is the processes of a command: a job, which ends them with its handle.
type Group struct{ job windows.Handle }

// Start starts a command in a job of its own.
func Start(cmd *exec.Cmd) (Group, error) {
	job, err := newJob()
	if err != nil {
		return Group{}, err
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.HideWindow = true
	cmd.SysProcAttr.CreationFlags = windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW
	if err := cmd.Start(); err != nil {
		_ = windows.CloseHandle(job)
		return Group{}, err
	}
	if err := assign(job, cmd.Process.Pid); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = windows.CloseHandle(job)
		return Group{}, fmt.Errorf("put the command into a job: %w", err)
	}
	return Group{job: job}, nil
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

func assign(job windows.Handle, pid int) error {
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(pid))
	if err != nil {
		return err
	}
	defer func() { _ = windows.CloseHandle(process) }()
	return windows.AssignProcessToJobObject(job, process)
}

// Kill kills those that are left of the job.
func (g Group) Kill() { _ = windows.TerminateJobObject(g.job, 1) }

// Close ends the use of the group, and with it what is left of it.
func (g Group) Close() { _ = windows.CloseHandle(g.job) }
