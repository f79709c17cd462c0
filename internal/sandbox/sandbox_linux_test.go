//go:build amd64 || arm64

package sandbox_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/sandbox"
	"github.com/planloop/planloop/internal/testenv"
)

func TestMain(m *testing.M) {
	process.Keep() // both return, unless this process was started to keep or confine a command
	sandbox.Main()
	os.Exit(testenv.Fixed{Tests: m}.Run())
}

// runWithin runs a command in dir, drops its changes, and returns its output and exit code.
func runWithin(t *testing.T, wall sandbox.Wall, dir string, command ...string) (string, int) {
	t.Helper()
	var out bytes.Buffer
	launcher := &process.Launcher{Program: os.Args[0]}
	o := sandbox.Options{Dir: dir, Dropped: []string{dir}, Walls: []sandbox.Wall{wall}}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = &out, &out
	result, err := sandbox.Run(t.Context(), launcher, o, cmd, process.Options{Timeout: 10 * time.Minute})
	code := result.ExitCode
	if errors.Is(err, sandbox.ErrNoWall) || code == sandbox.Failed && strings.Contains(out.String(), sandbox.ErrNoWall.Error()) {
		t.Skipf("this system has no such wall: %s", out.String())
	}
	testenv.Check(t, err)
	return out.String(), code
}

// treeOf describes every file below a folder, with its mode, times and content.
func treeOf(t *testing.T, dir string) string {
	t.Helper()
	var list strings.Builder
	testenv.Check(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		var sum [sha256.Size]byte
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			sum = sha256.Sum256(data)
		}
		fmt.Fprintf(&list, "%s %s %s %x\n", path, info.Mode(), info.ModTime(), sum[:4])
		return nil
	}))
	return list.String()
}

// suites are small projects, each with its test command and the program it needs.
var suites = map[string]struct {
	needs, command string
	files          map[string]string
}{
	"go": {"go", "go test ./...", map[string]string{"go.mod": "module x\n\ngo 1.21\n", "a_test.go": `package x

import (
	"os"
	"testing"
)

func TestFiles(t *testing.T) {
	name := t.TempDir() + "/a"
	if os.WriteFile(name, nil, 0o600) != nil || os.Chmod(name, 0o400) != nil || os.Chmod(name, 0o600) != nil {
		t.Fatal("no file could be written")
	}
}
`}},
	"python": {"python3", "python3 -m unittest", map[string]string{"test_a.py": `
import asyncio, os, shutil, subprocess, tempfile, unittest
class Test(unittest.TestCase):
    def test_children(self):
        async def run():
            p = await asyncio.create_subprocess_exec("echo", "x", stdout=subprocess.PIPE)
            return await p.communicate()
        self.assertEqual(asyncio.run(run())[0], b"x\n")
    def test_files(self):
        d = tempfile.mkdtemp()
        with open(d + "/a", "w"): pass
        os.chmod(d + "/a", 0o640)
        shutil.copy2(d + "/a", d + "/b")
        shutil.rmtree(d)
`}},
	"node": {"node", "node --test", map[string]string{"a.test.js": `
const test = require('node:test'), fs = require('fs'), os = require('os');
test('files', () => {
  const d = fs.mkdtempSync(os.tmpdir() + '/x');
  fs.writeFileSync(d + '/a', '');
  fs.chmodSync(d + '/a', 0o600);
  fs.utimesSync(d + '/a', 1, 1);
  fs.copyFileSync(d + '/a', d + '/b');
});
test('children', () => { require('child_process').execFileSync('echo', ['x']); });
`}},
	"c": {"cc", `cc -o "$TMPDIR/a" a.c && "$TMPDIR/a" && cp -p a.c "$TMPDIR" && touch -d 2020-01-01 "$TMPDIR/a.c"`,
		map[string]string{"a.c": "#include <stdio.h>\nint main(void) { puts(\"x\"); return 0; }\n"}},
	"git": {"git", `git init -q "$TMPDIR/a" && cd "$TMPDIR/a" && git -c user.name=x -c user.email=x commit -q --allow-empty -m x &&
		git clone -q . ../b && setsid true`, nil},
}

// TestSuites: tests in many languages pass within each wall, and the work tree stays as it was, modes and times included.
func TestSuites(t *testing.T) {
	for _, wall := range sandbox.Walls() {
		for name, suite := range suites {
			t.Run(string(wall)+"/"+name, func(t *testing.T) {
				if _, err := exec.LookPath(suite.needs); err != nil {
					t.Skip(err)
				}
				if name == "go" && testing.Short() {
					t.Skip("its cache is empty, so it builds the standard library")
				}
				dir := t.TempDir()
				for name, text := range suite.files {
					testenv.Check(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
				}
				before := treeOf(t, dir)
				if out, code := runWithin(t, wall, dir, "sh", "-c", suite.command); code != 0 {
					t.Errorf("exit code %d:\n%s", code, out)
				}
				if after := treeOf(t, dir); after != before {
					t.Errorf("before:\n%s\nafter:\n%s", before, after)
				}
			})
		}
	}
}

// TestNothingLasts: within namespaces a command sees its own changes, and a private network; nothing outlives it.
func TestNothingLasts(t *testing.T) {
	dir := t.TempDir()
	testenv.Check(t, os.WriteFile(filepath.Join(dir, "kept"), []byte("x"), 0o640))
	before := treeOf(t, dir)
	out, code := runWithin(t, sandbox.Namespaces, dir, "sh", "-c", `echo y > new && rm kept && mkdir -p a/b && cat new &&
		test $(($(stat -f -c '%b*%S/1024*4' /tmp))) -lt $(sed -n 's/^MemTotal: *//; s/ kB//p; q' /proc/meminfo) &&
		(setsid sleep 1000 &) && exit 7`)
	if code != 7 || !strings.HasPrefix(out, "y\n") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	if after := treeOf(t, dir); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

// TestWaysOut: neither what the caller left open nor a named pipe leads out of a wall.
func TestWaysOut(t *testing.T) {
	folder, err := os.MkdirTemp("/var/tmp", "planloop-") // visible within namespaces
	testenv.Check(t, err)
	defer func() { _ = os.RemoveAll(folder) }()
	open, err := unix.Open(folder, unix.O_RDONLY|unix.O_DIRECTORY, 0) // commands inherit it
	testenv.Check(t, err)
	defer func() { _ = unix.Close(open) }()
	pipe := filepath.Join(folder, "pipe")
	testenv.Check(t, unix.Mkfifo(pipe, 0o600))
	reader, err := os.OpenFile(pipe, os.O_RDWR, 0) // without a reader, writing would wait
	testenv.Check(t, err)
	defer reader.Close()
	ways := map[string]string{
		"inherited folder":   fmt.Sprintf("echo x > /proc/self/fd/%d/new", open),
		"inherited file":     fmt.Sprintf("ls /proc/self/fd/%d/", open),
		"mode of the input":  "chmod 666 /proc/self/fd/0",
		"named pipe":         "echo x > " + pipe,
		"core for a handler": `! grep "Max core file size  *1 " /proc/self/limits`,
	}
	for _, wall := range sandbox.Walls() {
		for name, way := range ways {
			if out, code := runWithin(t, wall, t.TempDir(), "sh", "-c", way); code == 0 {
				t.Errorf("%s: %s passed: %s", wall, name, out)
			}
		}
	}
}

// TestLimits: the kernel kills a confined command before the user's programs, and within namespaces it may not start processes without end.
func TestLimits(t *testing.T) {
	for _, wall := range sandbox.Walls() {
		out, code := runWithin(t, wall, t.TempDir(), "sh", "-c",
			"cat /proc/self/oom_score_adj; sed -n 's/^Max processes *//p' /proc/self/limits")
		score, limits, _ := strings.Cut(out, "\n")
		var soft, hard int
		_, err := fmt.Sscan(limits, &soft, &hard)
		if code != 0 || score != "1000" || wall == sandbox.Namespaces && (err != nil || hard > 4096+256*runtime.NumCPU()) {
			t.Errorf("%s: exit code %d: %s", wall, code, out)
		}
	}
}

// TestTemporaryFiles: they are removed, whatever modes their folders have. Only an ordinary user needs these modes changed.
func TestTemporaryFiles(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	out, code := runWithin(t, sandbox.Landlock, t.TempDir(), "sh", "-c",
		`mkdir -p "$TMPDIR/a/b/c" && chmod 0 "$TMPDIR/a/b" && chmod 500 "$TMPDIR/a" && chmod 0 "$TMPDIR"`)
	left, err := filepath.Glob(filepath.Join(temp, "planloop-*"))
	if testenv.Check(t, err); code != 0 || left != nil {
		t.Errorf("exit code %d, left %q: %s", code, left, out)
	}
}

// TestOrdinaryUser runs tests without the rights of root, which building a wall must not need.
func TestOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("this user is one: the other tests show it")
	}
	dir, err := os.MkdirTemp("", "planloop-")
	testenv.Check(t, err)
	defer func() { _ = os.RemoveAll(dir) }()
	const user = 65534
	program := filepath.Join(dir, "test") // the test's own folder is root's
	testenv.Check(t, errors.Join(os.WriteFile(program, must(os.ReadFile(os.Args[0])), 0o700), os.Chown(dir, user, user),
		os.Chown(program, user, user)))
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^Test(NothingLasts|TemporaryFiles|Limits)$", "-test.v")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TMPDIR="+dir, "HOME="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Contains(string(out), "mount overlay") { // it is allowed where the earlier steps are
		t.Errorf("%v: %s", err, out)
	}
}

func TestCommandThatIsMissing(t *testing.T) {
	for _, wall := range sandbox.Walls() {
		if out, code := runWithin(t, wall, t.TempDir(), "no-such-program"); code != 127 || !strings.Contains(out, "no-such-program") {
			t.Errorf("%s: exit code %d: %s", wall, code, out)
		}
	}
}

// TestWallIsTried: without a wall, creating a file outside or connecting to the machine succeeds, and is reported.
func TestWallIsTried(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	if err := sandbox.TryWall(0); err == nil || !strings.Contains(err.Error(), "a file could be created in /var/tmp") {
		t.Errorf("a file: %v", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Check(t, err)
	defer func() { _ = listener.Close() }()
	port := listener.Addr().(*net.TCPAddr).Port
	if err := sandbox.TryWall(port, "/var", home); err == nil || !strings.Contains(err.Error(), "a connection to this machine") {
		t.Errorf("a connection: %v", err)
	}
	if err := sandbox.TryWall(0, "/var", home); err != nil {
		t.Errorf("neither: %v", err)
	}
}
