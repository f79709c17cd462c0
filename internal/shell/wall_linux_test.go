package shell_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// withoutLandlock makes the kernel look like one without Landlock, if the process was asked to.
func withoutLandlock() {
	if os.Getenv("WITHOUT_LANDLOCK") == "" {
		return
	}
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}, // the number of the call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: unix.SYS_LANDLOCK_CREATE_RULESET},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		panic(err)
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&program))); errno != 0 {
		panic(errno)
	}
}

// TestWithoutLandlock: git is kept from running programs without the kernel's help.
func TestWithoutLandlock(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs the tests of git once more")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestGit")
	cmd.Env = append(os.Environ(), "WITHOUT_LANDLOCK=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	probe := exec.Command(os.Args[0], "-test.run=^TestCommandCannotWriteWhenConfined$", "-test.v")
	probe.Env = cmd.Env
	if out, err := probe.CombinedOutput(); err != nil || !strings.Contains(string(out), "SKIP") {
		t.Errorf("there was a Landlock, or it did more: %v\n%s", err, out)
	}
}

// TestWallLetsProgramsRead: the acts that programs read with work inside.
func TestWallLetsProgramsRead(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts compilers")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\nimport _ \"net\"\nfunc main() {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module m\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for command, part := range map[string]string{
		"cat <<< $(seq 20000) | wc -c": "108894", "ls -l main.go": "main.go", "sort -S 1k <(seq 50000) | tail -1": "9999",
		"timeout 5 nice -n 5 echo x": "x", "find . -name '*.go' -exec grep -c package {} +": "1", "stat -c %s main.go": "43",
		"tar -cf - main.go | tar -tf -": "main.go", "ls | (sleep 0.1; cat) | xargs -P2 -n1 echo": "main.go", "ps -o comm= -p $$; :": "bash",
		"file main.go || true; echo x": "x", "go list -deps ./... | tail -1": "m", "go env GOPROXY": "off", "go doc net.Conn": "type Conn",
		"rg -n package . || grep -rn package .": "main.go", "git version": "git version",
	} {
		program, _, _ := strings.Cut(command, " ")
		if _, err := exec.LookPath(program); err != nil {
			continue
		}
		if got := run(t, dir, command, confined(t)); got.ExitCode != 0 || !strings.Contains(got.Stdout, part) {
			t.Errorf("%s: %+v", command, got)
		}
	}
}
