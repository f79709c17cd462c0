package process

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/windows"
)

// processes takes a snapshot of all processes, because Windows cannot query the parent of a single one. A parent may
// have ended and its pid been reused.
func processFinder() look {
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPPROCESS, 0)
	if err != nil {
		return func(int) (Ancestor, int, bool) { return Ancestor{}, 0, false }
	}
	defer windows.CloseHandle(snapshot)
	all := map[int]windows.ProcessEntry32{}
	entry := windows.ProcessEntry32{Size: uint32(unsafe.Sizeof(windows.ProcessEntry32{}))}
	for err = windows.Process32First(snapshot, &entry); err == nil; err = windows.Process32Next(snapshot, &entry) {
		all[int(entry.ProcessID)] = entry
	}
	return func(pid int) (Ancestor, int, bool) {
		entry, ok := all[pid]
		started, hidden := started(pid)
		if !ok || started == 0 && !hidden {
			return Ancestor{}, 0, false
		}
		name := programName(windows.UTF16ToString(entry.ExeFile[:]))
		return Ancestor{PID: pid, Started: started, Name: name}, int(entry.ParentProcessID), true
	}
}

// leader returns -1: consoles have no leaders.
func leader(int) int { return -1 }

// started returns when a process began, 0 if it has ended or belongs to another user, as services do: then it is hidden.
func started(pid int) (at int64, hidden bool) {
	handle, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION|windows.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		return 0, errors.Is(err, windows.ERROR_ACCESS_DENIED)
	}
	defer windows.CloseHandle(handle)
	if event, err := windows.WaitForSingleObject(handle, 0); err != nil || event == windows.WAIT_OBJECT_0 {
		return 0, false // it has ended, but a handle to it is still open
	}
	var creation, exit, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(handle, &creation, &exit, &kernel, &user); err != nil {
		return 0, false
	}
	return creation.Nanoseconds(), false
}

// peer is not implemented for this system.
func peer(int) int { return 0 }
