package lineage

import "golang.org/x/sys/unix"

const zombie = 5 // SZOMB

func processes() look { return find }

func find(pid int) (Process, int, bool) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(info.Proc.P_pid) != pid || info.Proc.P_stat == zombie {
		return Process{}, 0, false
	}
	p := Process{PID: pid, Started: info.Proc.P_starttime.Nano(), Name: programName(unix.ByteSliceToString(info.Proc.P_comm[:]))}
	return p, int(info.Eproc.Ppid), true
}
