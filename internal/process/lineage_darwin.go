package process

import "golang.org/x/sys/unix"

func processFinder() look { return find }

func find(pid int) (Ancestor, int, bool) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(info.Proc.P_pid) != pid || info.Proc.P_stat == zombie {
		return Ancestor{}, 0, false
	}
	p := Ancestor{PID: pid, Started: info.Proc.P_starttime.Nano(), Name: programName(unix.ByteSliceToString(info.Proc.P_comm[:]))}
	return p, int(info.Eproc.Ppid), true
}
