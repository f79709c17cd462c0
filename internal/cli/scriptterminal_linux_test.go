package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"github.com/planloop/planloop/internal/process/lineagetest"
)

// shownCode finds the code to type below a plan.
var shownCode = regexp.MustCompile(`(?m)^This is [^.]+\. To approve it, type (\d+) and Enter`)

// atTerminal runs a command in a pseudo-terminal with a person's input: terminal KEYS EXIT COMMAND... KEYS is a Go string, or - for none,
// or code for the code on the screen. Keys are typed once the command asks for them; keys for the next question follow after a comma, else
// only Enter is typed. The screen's text ends up in the file terminal.txt; until then it grows in $WORK/screen.txt.
func atTerminal(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: terminal KEYS EXIT COMMAND...")
	}
	growing := filepath.Join(ts.Getenv("WORK"), "screen.txt")
	keep := func(text string) { _ = os.WriteFile(growing, []byte(text), 0o600) } // a script waiting for it notices a missing file
	shown, code, err := onScreen(160, args[0], args[2:], scriptEnvironment(ts), ts.MkAbs("."), keep)
	shown = plainScreen(shown)
	ts.Logf("[terminal]\n%s", shown)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("terminal.txt"), []byte(shown), 0o600))
	if fmt.Sprint(code) != args[1] {
		ts.Fatalf("exit code %d, want %s", code, args[1])
	}
}

// scriptEnvironment returns the part of the script's environment that planloop uses.
func scriptEnvironment(ts *testscript.TestScript) []string {
	env := []string{"TERM=xterm"}
	for _, name := range []string{"PATH", "HOME", "USER", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "PLANLOOP_AGENT",
		"CLAUDECODE", "CI", "TMUX", "BROWSER"} {
		if value := ts.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// plainScreen returns a screen without its colours.
func plainScreen(shown string) string {
	return strings.ReplaceAll(ansi.Strip(shown), "\r\n", "\n")
}

// onScreen runs a command in a pseudo-terminal, and returns its screen with colours. It passes the growing text to show.
func onScreen(columns uint16, keys string, args, env []string, dir string, show func(text string)) (shown string, code int, err error) {
	control, side, err := openTerminals(columns, 50)
	if err != nil {
		return "", 0, err
	}
	defer control.Close()
	cmd := exec.Command("sh", leader(args)...)
	cmd.Dir, cmd.Env = dir, env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = side, side, side
	lineagetest.Apart(cmd)
	err = cmd.Start()
	side.Close()
	if err != nil {
		return "", 0, err
	}
	end := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }) // it has usually ended by then
	defer end.Stop()
	shown, typing := typeAtPrompt(control, keys, show)
	waited := cmd.Wait()
	text, exit, ok := exitShown(strings.ReplaceAll(shown, "\r\n", "\n"))
	if !ok {
		return shown, 0, errors.Join(errors.New("the command did not come to its end"), waited, typing)
	}
	return text, exit, typing
}

// typeAtPrompt reads the screen to the end and types the keys once a plan waits for its code.
func typeAtPrompt(control *os.File, keys string, show func(text string)) (string, error) {
	var seen strings.Builder
	answers, asked := strings.Split(keys, ","), 0
	var failed error
	b := make([]byte, 4096)
	for {
		n, err := control.Read(b)
		seen.Write(b[:n])
		text := plainScreen(seen.String())
		show(text)
		text = strings.ReplaceAll(text, "[y/N] ", "[y/N]\n> ") // both are prompts
		codes := shownCode.FindAllStringSubmatch(text, -1)     // a changed plan gets another
		early := asked < len(answers) && answers[asked] == "code" && codes == nil
		if keys != "-" && !early && strings.HasSuffix(text, "\n> ") && strings.Count(text, "\n> ") > asked {
			line := "\n"
			switch {
			case asked >= len(answers):
			case answers[asked] == "code":
				line = codes[len(codes)-1][1] + "\n"
			default:
				line, failed = strconv.Unquote(`"` + answers[asked] + `"`)
			}
			asked++
			if _, err := io.WriteString(control, line); err != nil {
				failed = errors.Join(failed, err)
			}
		}
		if _, _, ended := exitShown(text); ended || err != nil {
			_, _ = io.WriteString(control, "\n") // lets the leader go
			return seen.String(), failed
		}
	}
}

// openTerminals returns both ends of a pseudo-terminal.
func openTerminals(columns, rows uint16) (control, side *os.File, err error) {
	if control, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		return nil, nil, err
	}
	conn, err := control.SyscallConn()
	if err != nil {
		return nil, nil, errors.Join(err, control.Close())
	}
	number := 0
	var failed error
	err = conn.Control(func(fd uintptr) {
		if failed = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); failed == nil {
			number, failed = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
		if failed == nil {
			failed = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns})
		}
	})
	if err = errors.Join(err, failed); err != nil {
		return nil, nil, errors.Join(err, control.Close())
	}
	if side, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		return nil, nil, errors.Join(err, control.Close())
	}
	return control, side, nil
}
