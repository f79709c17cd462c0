package workspace

import (
	"path/filepath"
	"testing"
)

func TestLocalPath(t *testing.T) {
	slashes := filepath.FromSlash
	tests := []struct {
		host, path string
		windows    bool
		want       string
		ok         bool
	}{
		{"", "/home/ann/my code", false, "/home/ann/my code", true},
		{"localhost", "/x", false, "/x", true},
		{"server", "/x", false, "", false},
		{"", "relative", false, "", false},
		{"", "/a\x00b", false, "", false},
		{"", "", false, "", false},
		{"", "/C:/code", true, slashes("C:/code"), true},
		{"server", "/share/code", true, slashes("//server/share/code"), true},
	}
	for _, test := range tests {
		got, ok := localPath(test.host, test.path, test.windows)
		if got != test.want || ok != test.ok {
			t.Errorf("%+v: %q, %v", test, got, ok)
		}
	}
}

func TestPathOfURI(t *testing.T) {
	for _, refused := range []string{"", "http://x/y", "file:relative", "/plain/path", "file://%zz", "://", "vscode-remote://wsl/x"} {
		if got, ok := pathOfURI(refused); ok {
			t.Errorf("%q names %q", refused, got)
		}
	}
	if got, ok := pathOfURI("FILE:///a%20b/c"); !ok || filepath.ToSlash(got) != "/a b/c" {
		t.Errorf("%q, %v", got, ok)
	}
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
		if got := filepath.ToSlash(spelledBy(filepath.FromSlash(given), list)); got != want {
			t.Errorf("%s is spelled %s, want %s", given, got, want)
		}
	}
}
