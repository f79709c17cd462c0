// Package testenv gives tests the same environment on every machine. It must not know what is tested.
package testenv

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/adrg/xdg"
)

// Tests are the tests of a package, such as *testing.M.
type Tests interface{ Run() int }

// Fixed runs tests without the settings of the user, the terminal, the CI system or the git hook that started them.
type Fixed struct{ Tests }

// Run removes the settings from this process, and so from its children, and runs the tests in UTC and with a home folder.
func (f Fixed) Run() int {
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if !isSetting(name) {
			continue
		}
		if err := os.Unsetenv(name); err != nil {
			fmt.Fprintln(os.Stderr, "clean the environment of the tests:", err)
			return 1
		}
	}
	if home, err := os.UserHomeDir(); home == "" || err != nil { // as in some containers
		if err := os.Setenv("HOME", os.TempDir()); err != nil {
			fmt.Fprintln(os.Stderr, "give the tests a home folder:", err)
			return 1
		}
	}
	time.Local = time.UTC
	xdg.Reload() // it has read the variables already
	return f.Tests.Run()
}

// Count returns how often a test tries something: few times with -short, many times if PLANLOOP_TEST_LONG is set, as .ci/nightly does.
func Count(few, usual, many int) int {
	switch {
	case os.Getenv("PLANLOOP_TEST_LONG") != "":
		return many
	case testing.Short():
		return few
	}
	return usual
}

// Constants returns the values of the text constants of a type that a Go file declares.
func Constants(t testing.TB, file, kind string) (values []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile(`(?m)^\t\w+ +`+kind+` += "(.*?)"`).FindAllStringSubmatch(string(text), -1) {
		values = append(values, found[1])
	}
	if values == nil {
		t.Fatalf("%s has no constants of the type %s", file, kind)
	}
	return values
}

// isSetting reports whether a variable can change the outcome of a test. Variables for the tests themselves start with PLANLOOP_TEST_ or
// PLANLOOP_E2E_. XDG_CACHE_HOME stays, because Go keeps its build cache there.
func isSetting(name string) bool {
	for _, kept := range []string{"PLANLOOP_TEST_", "PLANLOOP_E2E_", "XDG_CACHE_HOME"} {
		if strings.HasPrefix(name, kept) {
			return false
		}
	}
	for _, prefix := range []string{"PLANLOOP_", "XDG_", "GIT_", "LC_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	switch name {
	case "TMPDIR": // scripts in tests name temporary files without quotes
		return strings.ContainsAny(os.Getenv(name), " \t\n\"'`$&|;<>()*?[]{}~#!")
	case "LANG", "LANGUAGE", "TZ", "CI", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLORTERM", "COLUMNS", "LINES", "PAGER", "EDITOR",
		"VISUAL":
		return true
	}
	return false
}

// Ender is a test that can end, such as *testing.T.
type Ender interface {
	Helper()
	Fatal(...any)
}

// Must returns a function that returns value, after ending its test if err is not nil.
func Must[T any](value T, err error) func(Ender) T {
	return func(t Ender) T {
		t.Helper()
		Check(t, err)
		return value
	}
}

// Check ends a test if err is not nil.
func Check(t Ender, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Planted are the texts in testdata/secrets.json.
type Planted struct {
	Secrets    []Secret
	LookAlikes []string `json:"look_alikes"` // texts without a secret
}

// Secret is a text with a secret of a real shape. It has two parts, so that scanners of repositories do not report it.
type Secret struct {
	Name, Before, Text string
	Pieces             []string // no output may contain them; the whole Text by default
}

// Secrets reads texts with secrets, and texts that resemble them. root is the path of the module, with a slash.
func Secrets(t Ender, root string) (all Planted) {
	data := Must(os.ReadFile(root + "testdata/secrets.json"))(t)
	Check(t, json.Unmarshal(data, &all))
	for i := range all.Secrets {
		if s := &all.Secrets[i]; s.Pieces == nil {
			s.Pieces = []string{s.Text}
		}
	}
	return all
}
