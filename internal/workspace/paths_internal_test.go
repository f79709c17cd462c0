package workspace

import (
	"path/filepath"
	"testing"
)

// TestHere: hosts' paths on each system; "" if a path means nothing there.
func TestHere(t *testing.T) {
	linux, windows, mac := system{"linux", ""}, system{"windows", ""}, system{"darwin", ""}
	wsl := system{"linux", "Ubuntu"}
	for _, c := range []struct {
		told string
		on   system
		want string
	}{
		{"/home/ann/my code", linux, "/home/ann/my code"},
		{"relative/dir", linux, "relative/dir"},
		{"~/code", linux, "~/code"},
		{"file:///home/ann/my%20code", linux, "/home/ann/my code"},
		{"file:///home/ann/my code", linux, "/home/ann/my code"}, // not escaped
		{"FILE:///a%20b/c", mac, "/a b/c"},
		{"file:/one/slash", linux, "/one/slash"},
		{"file://localhost/x", linux, "/x"},
		{"file:///x/caf%C3%A9", mac, "/x/café"},
		{"file:///x/cafe%CC%81", mac, "/x/cafe\u0301"}, // the disk decides how to treat it
		{"file:///code/c#", linux, "/code/c#"},
		{"file:///code/c%23", linux, "/code/c#"},
		{"file:///code/what?", linux, "/code/what?"},
		{"file:///code/100%", linux, "/code/100%"},
		{"file:///code/a+b", linux, "/code/a+b"},
		{"file:relative", linux, ""},
		{"file://", linux, ""},
		{"file://server/share/x", linux, ""},
		{"/a\x00b", linux, ""},
		{"http://x/y", linux, ""},
		{"untitled://x/y", windows, ""},
		{"vscode-remote://ssh-remote+box/home/ann", linux, ""},

		{"file:///C:/code", windows, `C:\code`},
		{"file:///c%3A/my%20code", windows, `c:\my code`},
		{`file://C:\code\x`, windows, `C:\code\x`},
		{`file:///C:\code`, windows, `C:\code`},
		{"file://C:/code", windows, `C:\code`},
		{"/c:/code", windows, `c:\code`}, // as Cursor tells its roots
		{"/c/Users/ann", windows, `C:\Users\ann`},
		{"/cygdrive/d/x", windows, `D:\x`},
		{"/mnt/c/Users/ann", windows, `C:\Users\ann`},
		{"/mnt/c", windows, `C:\`},
		{`C:/Users/ann`, windows, `C:\Users\ann`},
		{`\\?\C:\code`, windows, `C:\code`},
		{"file://server/share/code", windows, `\\server\share\code`},
		{`\\wsl$\Ubuntu\home\ann`, windows, `\\wsl.localhost\Ubuntu\home\ann`},
		{"file://wsl%24/Ubuntu/home/ann", windows, `\\wsl.localhost\Ubuntu\home\ann`},
		{"file://wsl.localhost/Ubuntu/home/ann", windows, `\\wsl.localhost\Ubuntu\home\ann`},
		{"vscode-remote://wsl%2BUbuntu/home/ann", windows, `\\wsl.localhost\Ubuntu\home\ann`},
		{"/home/ann", windows, "/home/ann"}, // in WSL, but the distribution is unknown: not found
		{"sub/dir", windows, "sub/dir"},

		{`C:\Users\ann`, wsl, "/mnt/c/Users/ann"},
		{"file:///c%3A/Users/ann", wsl, "/mnt/c/Users/ann"},
		{"/D:/x", wsl, "/mnt/d/x"},
		{`C:\`, wsl, "/mnt/c"},
		{"/mnt/c/Users/ann", wsl, "/mnt/c/Users/ann"},
		{`\\wsl$\ubuntu\home\ann`, wsl, "/home/ann"},
		{`\\wsl.localhost\Ubuntu\home\ann`, wsl, "/home/ann"},
		{"file://wsl.localhost/Ubuntu/home/ann", wsl, "/home/ann"},
		{"vscode-remote://wsl+Ubuntu/home/ann", wsl, "/home/ann"},
		{"vscode-remote://wsl+Debian/home/ann", wsl, ""},
		{`\\wsl$\Debian\home\ann`, wsl, ""},
		{`\\wsl$\Ubuntu\home\ann`, linux, ""},
		{`C:\code`, mac, `C:\code`},
	} {
		got, ok := c.on.path(c.told)
		if ok != (c.want != "") || ok && got != c.want {
			t.Errorf("%q on %+v: %q, %v, want %q", c.told, c.on, got, ok, c.want)
		}
	}
}

// TestOfSystem: folders in which hosts happen to be when they start a server.
func TestOfSystem(t *testing.T) {
	for _, c := range []struct {
		os, path, home string
		want           bool
	}{
		{"linux", "/usr/share/code", "/home/ann", true},
		{"linux", "/opt/cursor", "/home/ann", true},
		{"linux", "/usr/src/app", "/root", false}, // of a container
		{"linux", "/optimum", "/home/ann", false},
		{"linux", "/srv/x", "/home/ann", false},
		{"linux", "/home/ann/.cursor", "/home/ann", true},
		{"linux", "/home/ann/.local/share/x", "/home/ann", true},
		{"linux", "/home/ann/notes/.hidden", "/home/ann", false},
		{"linux", "/home/ann/notes", "/home/ann", false},
		{"linux", "/usr/share/ann/notes", "/usr/share/ann", false},
		{"linux", "/mnt/c/Windows/System32", "/home/ann", true},
		{"linux", "/mnt/c/Users/Ann", "/home/ann", true},
		{"linux", "/mnt/c/Users/Ann/AppData/Local/Programs/cursor", "/home/ann", true},
		{"linux", "/mnt/c/Users/Ann/code", "/home/ann", false},
		{"linux", "/mnt/c", "/home/ann", true},
		{"linux", "/mnt/data/Windows", "/home/ann", false},
		{"linux", "/mnt/c/code", "/home/ann", false},
		{"darwin", "/Applications/Cursor.app", "/Users/ann", true},
		{"darwin", "/Users/ann/Library/Application Support/x", "/Users/ann", true},
		{"darwin", "/Users/ann/code", "/Users/ann", false},
		{"windows", `C:\WINDOWS\system32`, `C:\Users\ann`, true},
		{"windows", `C:\Program Files\Claude`, `C:\Users\ann`, true},
		{"windows", `C:\Users\Ann\AppData\Local\Programs\cursor`, `C:\Users\ann`, true},
		{"windows", `C:\Users\ann\code`, `C:\Users\ann`, false},
		{"windows", `D:\code`, `C:\Users\ann`, false},
	} {
		if got := isSystemPath(c.os, c.path, c.home); got != c.want {
			t.Errorf("%s on %s: %v", c.path, c.os, got)
		}
	}
}

func FuzzHere(f *testing.F) {
	f.Add("file:///c%3A/x", "Ubuntu")
	f.Add(`\\wsl$\Ubuntu`, "")
	f.Add("/mnt/c", "x")
	f.Fuzz(func(t *testing.T, told, distro string) {
		for _, os := range []string{"linux", "windows", "darwin"} {
			if path, ok := (system{os, distro}).path(told); !ok && path != "" && os != "linux" {
				t.Errorf("%q names nothing on %s, and is %q", told, os, path)
			}
			isSystemPath(os, told, distro)
		}
	})
}

func TestSpelling(t *testing.T) {
	tree := map[string][]string{
		"/":                {"Users", "etc"},
		"/Users":           {"Ann", "caf\u00e9"},
		"/Users/Ann":       {"Code", "TWO", "two"},
		"/Users/caf\u00e9": {"x"},
	}
	list := func(dir string) []string { return tree[filepath.ToSlash(dir)] }
	for given, want := range map[string]string{
		"/users/ann/CODE":     "/Users/Ann/Code",
		"/Users/Ann/Code":     "/Users/Ann/Code",
		"/users/ann/Two":      "/Users/Ann/Two", // two candidates: left as it is
		"/users/ann/two":      "/Users/Ann/two",
		"/users/cafe\u0301/X": "/Users/caf\u00e9/x",
		"/unlisted/x":         "/unlisted/x",
		"/":                   "/",
	} {
		if got := filepath.ToSlash(spellPath(filepath.FromSlash(given), list)); got != want {
			t.Errorf("%s is spelled %s, want %s", given, got, want)
		}
	}
}
