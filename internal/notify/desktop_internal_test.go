package notify

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// hostile is text that would be an option, markup and a script, if it could.
const hostile = `--icon=/etc/passwd "; do shell script "id" & $(id) <b>x</b> \074i\076 '@ %PATH% ` + "`id`"

func session(name string) string {
	return map[string]string{"PATH": "/bin", "HOME": "/home/ann", "DISPLAY": ":0", "API_KEY": "sk-planted", "SystemRoot": `D:\Win`}[name]
}

func TestDesktopCommands(t *testing.T) {
	title := "Plan: " + hostile
	for system, row := range map[string]struct{ argv, env []string }{
		"linux": {
			[]string{"notify-send", "--app-name=planloop", "--", title,
				` --icon=/etc/passwd "; do shell script "id" &amp; $(id) &lt;b&gt;x&lt;/b&gt; \\074i\\076 '@ %PATH% ` + "`id`"},
			[]string{"DISPLAY=:0", "HOME=/home/ann", "PATH=/bin"},
		},
		"darwin": {append(appleScript(), title, " "+hostile), []string{"DISPLAY=:0", "HOME=/home/ann", "PATH=/bin"}},
		"windows": {
			[]string{`D:\Win\System32\WindowsPowerShell\v1.0\powershell.exe`, "-NoLogo", "-NoProfile", "-NonInteractive", "-Command",
				toast},
			[]string{"PATH=/bin", `SystemRoot=D:\Win`, "PLANLOOP_NOTICE_TITLE=" + title, "PLANLOOP_NOTICE_TEXT= " + hostile},
		},
		"plan9": {nil, nil},
	} {
		argv, env := newDesktop(system, session, nil).command(title, hostile)
		if diff := cmp.Diff([][]string{row.argv, row.env}, [][]string{argv, env}); diff != "" {
			t.Errorf("%s: %s", system, diff)
		}
	}
	if strings.Contains(toast, `"`) || !strings.Contains(toast, "$env:"+titleVariable) || !strings.Contains(toast, "$env:"+textVariable) {
		t.Error("the script does not survive a command line, or does not name its variables")
	}
}

func TestDesktopOutcomes(t *testing.T) {
	ends := func(err error) Run { return func(context.Context, []string, []string) error { return err } }
	for name, row := range map[string]struct {
		system string
		run    Run
		says   string
		quiet  bool
	}{
		"shown":         {"linux", ends(nil), "", false},
		"not installed": {"linux", ends(&exec.Error{Name: "x", Err: exec.ErrNotFound}), "not installed", true},
		"not there":     {"darwin", ends(fs.ErrNotExist), "not installed", true},
		"failed":        {"linux", ends(errors.New("exit status 1")), "failed", false},
		"hangs":         {"linux", func(ctx context.Context, _, _ []string) error { <-ctx.Done(); return ctx.Err() }, "in time", false},
		"unknown":       {"plan9", nil, "no known program", true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				err := newDesktop(row.system, session, row.run).deliver(t.Context(), envelope{Notice: Notice{Event: PlanWaits, Title: "x"}})
				if time.Since(began) > desktopTime {
					t.Errorf("took %s", time.Since(began))
				}
				var f *failure
				if row.says == "" && err == nil {
					return
				}
				if !errors.As(err, &f) || !strings.Contains(f.problem, row.says) || f.quiet != row.quiet {
					t.Errorf("%+v", err)
				}
			})
		})
	}
}

// TestProcess runs a programme that writes down what it was given.
func TestProcess(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the programme is a shell script")
	}
	folder := t.TempDir()
	script := filepath.Join(folder, "notify-send")
	const keeps = "#!/bin/sh\nfor a in \"$@\"; do printf '%s\\n' \"$a\"; done >\"$HOME/argv\"\n/usr/bin/env >\"$HOME/env\"\n"
	if err := os.WriteFile(script, []byte(keeps), 0o700); err != nil {
		t.Fatal(err)
	}
	argv := []string{script, "--", "Plan: " + hostile}
	if err := process(t.Context(), argv, []string{"HOME=" + folder}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(folder, "argv"))
	if err != nil || string(got) != strings.Join(argv[1:], "\n")+"\n" {
		t.Errorf("%s, %v", got, err)
	}
	env, err := os.ReadFile(filepath.Join(folder, "env"))
	if err != nil || slices.ContainsFunc(strings.Split(string(env), "\n"),
		func(s string) bool { return strings.HasPrefix(s, "USER=") || strings.HasPrefix(s, "GO") }) {
		t.Errorf("%s, %v", env, err)
	}
	if err := process(t.Context(), []string{"planloop-no-such-programme"}, nil); !errors.Is(err, exec.ErrNotFound) {
		t.Error(err)
	}
	if err := process(t.Context(), []string{filepath.Join(folder, "none")}, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := process(ended, []string{"/bin/sleep", "60"}, nil); err == nil {
		t.Error("it ran to its end")
	}
}

func TestSummary(t *testing.T) {
	n := Notice{Event: PlanWaits, Workspace: "/home/ann/shop", Title: "Move\nthe login", Text: "a\n\nb",
		Steps: []Step{{Risk: "low"}, {Risk: "medium"}}}
	want := "Plan: Move the login\na b\n2 steps, highest risk medium\n" +
		"Approve or reject with: planloop review or planloop approve\nWorkspace: shop"
	if got := n.heading() + "\n" + n.summary(); got != want {
		t.Error(got)
	}
}
