package shell

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// searchPath is where commands are looked for: places that an administrator
// writes to, and no project.
const searchPath = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin:/usr/local/go/bin:/opt/homebrew/bin"

// baseEnvironment is the short list of what a command is told: where home is and
// which language is spoken, and nothing secret.
func baseEnvironment(dir, temp string) []string {
	list := []string{
		"PATH=" + searchPath, "PWD=" + dir, "TMPDIR=" + temp, "TERM=dumb", "PAGER=cat", "MANPAGER=cat", "LESSSECURE=1", "NO_COLOR=1",
		"GOFLAGS=-mod=readonly", "GOTOOLCHAIN=local", "GOPROXY=off", "GOENV=off", "GOCACHE=" + filepath.Join(temp,
			"go-build"), "GOWORK=",
	}
	list = append(list, "XDG_CONFIG_HOME="+ownConfiguration(temp))
	for _, name := range []string{"HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "SYSTEMROOT"} {
		value, ok := os.LookupEnv(name)
		if locale := name == "LANG" || strings.HasPrefix(name, "LC_"); ok && (!locale || knownLocale.MatchString(value)) {
			list = append(list, name+"="+value)
		}
	}
	return list
}

// ownConfiguration is a folder for what programs note about themselves, in which
// only the configuration of git is the user's.
func ownConfiguration(temp string) string {
	folder := filepath.Join(temp, "config")
	if user, err := os.UserConfigDir(); err == nil && os.MkdirAll(folder, 0o700) == nil {
		_ = os.Symlink(filepath.Join(user, "git"), filepath.Join(folder, "git"))
		telemetry := filepath.Join(folder, "go", "telemetry") // which go keeps in a process of its own
		_ = os.MkdirAll(telemetry, 0o700)
		_ = os.WriteFile(filepath.Join(telemetry, "mode"), []byte("off"), 0o600)
	}
	return folder
}

// gitEnvironment takes from git what a repository could make it run.
func gitEnvironment(ctx context.Context, dir string, base []string) []string {
	list := []string{
		"GIT_CONFIG_NOSYSTEM=1", "GIT_PAGER=cat", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=false",
		"GIT_SEQUENCE_EDITOR=false",
		"GIT_ASKPASS=false", "SSH_ASKPASS=false", "GIT_SSH_COMMAND=false", "GIT_ALLOW_PROTOCOL=none",
	}
	settings := [][2]string{
		{"core.fsmonitor", "false"}, {"core.hooksPath", os.DevNull}, {"core.pager", "cat"}, {"core.alternateRefsCommand", "false"},
		{"core.sshCommand", "false"}, {"core.untrackedCache", "keep"}, {"credential.helper", ""}, {"gpg.program", "false"},
		{"gpg.ssh.program", "false"},
		{"gpg.x509.program", "false"}, {"log.showSignature", "false"}, {"protocol.allow", "never"}, {"safe.bareRepository", "explicit"},
		{"submodule.recurse", "false"}, {"interactive.diffFilter", "cat"}, {"maintenance.auto", "false"}, {"gc.auto", "0"},
	}
	settings = append(settings, drivers(ctx, dir, slices.Concat(base, list))...)
	for i, setting := range settings {
		n := strconv.Itoa(i)
		list = append(list, "GIT_CONFIG_KEY_"+n+"="+setting[0], "GIT_CONFIG_VALUE_"+n+"="+setting[1])
	}
	return append(list, "GIT_CONFIG_COUNT="+strconv.Itoa(len(settings)))
}

// plainDiff stands in for a program that a repository has for its diffs: git has
// no value for none. Git runs it with the path, and the file, hash and mode of
// the old and the new one.
const plainDiff = `d() { echo "diff --git a/$1 b/$1"; diff -u --label "a/$1" --label "b/$1" -- "$2" "$5"; true; }; d`

// drivers silences the programs that the repository's own configuration names for
// kinds of files: their names are free, so that they have to be asked for.
func drivers(ctx context.Context, dir string, environment []string) [][2]string {
	git, err := lookProgram("git")
	if err != nil {
		return nil
	}
	cmd := exec.CommandContext(ctx, git, "config", "--local", "--includes", "--null", "--name-only", "--get-regexp",
		`^(diff\.external|diff\..*\.(command|textconv)|filter\..*\.(clean|smudge|process|required))$`)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, environment, graceAfterExit
	names, err := cmd.Output()
	if err != nil {
		return nil // no repository, or none of them in it
	}
	var settings [][2]string
	for name := range strings.SplitSeq(strings.TrimRight(string(names), "\x00"), "\x00") {
		value := ""
		switch {
		case strings.HasSuffix(name, ".required"):
			value = "false"
		case strings.HasSuffix(name, ".textconv"):
			value = "cat"
		case strings.HasPrefix(name, "diff."):
			value = plainDiff
		}
		settings = append(settings, [2]string{name, value})
	}
	return settings
}

// lookProgram finds a program on the fixed path, whatever the own PATH says. On
// Windows there is no fixed one.
func lookProgram(name string) (string, error) {
	if runtime.GOOS == "windows" {
		return exec.LookPath(name)
	}
	for _, folder := range filepath.SplitList(searchPath) {
		path := filepath.Join(folder, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s: %w", name, exec.ErrNotFound)
}
