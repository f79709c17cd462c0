package safetext_test

import (
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/internal/safetext"
)

func TestWord(t *testing.T) {
	for text, want := range map[string]string{
		"/usr/bin/planloop":     "/usr/bin/planloop",
		"/My Apps/planloop":     "'/My Apps/planloop'",
		"it's":                  `'it'\''s'`,
		`C:\tools\planloop.exe`: `'C:\tools\planloop.exe'`,
		"":                      "''",
		"$(rm -rf)":             "'$(rm -rf)'",
	} {
		if got := safetext.QuoteWord(text); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

func TestWindows(t *testing.T) {
	for _, c := range []struct{ program, either, powershell string }{
		{`C:\go\bin\planloop.exe`, `C:\go\bin\planloop.exe`, `C:\go\bin\planloop.exe`},
		{`C:\Program Files (x86)\planloop.exe`, `cmd /d /c call "C:\Program Files (x86)\planloop.exe"`,
			`& 'C:\Program Files (x86)\planloop.exe'`},
		{`C:\Users\O'Brien\planloop.exe`, `cmd /d /c call "C:\Users\O'Brien\planloop.exe"`, `& 'C:\Users\O''Brien\planloop.exe'`},
		{`C:\Ann’s\planloop.exe`, `cmd /d /c call "C:\Ann’s\planloop.exe"`, `& 'C:\Ann’’s\planloop.exe'`},
	} {
		if got := safetext.QuoteWindows(c.program); got != c.either {
			t.Errorf("%s is %s, want %s", c.program, got, c.either)
		}
		if got := safetext.QuotePowerShell(c.program); got != c.powershell {
			t.Errorf("%s is %s for PowerShell, want %s", c.program, got, c.powershell)
		}
	}
}

// A POSIX shell reads back the original text.
func TestAShellReadsItBack(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no POSIX shell here")
	}
	rapidtest.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune("ab'\"\\$`*?[]{}()<>|&;!#~ \t\n=%éж"))).Draw(t, "text")
		for _, word := range []string{safetext.QuoteWord(text), safetext.QuoteAlways(text)} {
			if out, err := exec.Command(sh, "-c", "printf %s "+word).Output(); err != nil || string(out) != text {
				t.Fatalf("%q is written %s, which is %q: %v", text, word, out, err)
			}
		}
	})
}

// The program of a line is found for any shell.
func TestProgram(t *testing.T) {
	rapidtest.Check(t, func(t *rapid.T) {
		path := rapid.StringOfN(rapid.RuneFrom([]rune(`ab \/:'’().-`)), 1, 20, -1).Draw(t, "path")
		for _, written := range []string{safetext.QuoteAlways(path), safetext.QuotePowerShell(path), safetext.QuoteWindows(path)} {
			if strings.HasPrefix(path, "& ") || strings.HasPrefix(path, "call ") {
				continue
			}
			if got := safetext.QuoteProgram(written+" hook claude stop", "hook"); got != path {
				t.Fatalf("%s is of %q, want %q", written, got, path)
			}
		}
	})
	const once = `cmd /d /c "C:\My Programs\planloop.exe" hook codex stop`
	if got := safetext.QuoteProgram(once, "hook"); got != `C:\My Programs\planloop.exe` {
		t.Error("a line as it was written once is not read:", got)
	}
}
