package shell

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// searchPath is where commands are looked for: places that an administrator
// writes to, and no project.
const searchPath = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin:/usr/local/go/bin:/opt/homebrew/bin"

// surroundings lays out the folder that is a command's own, and returns its environment.
func surroundings(dir, own, launcher string) ([]string, error) {
	programs := filepath.Join(own, programFolder)
	if err := errors.Join(os.Mkdir(filepath.Join(own, tempFolder), 0o700), installGit(programs, launcher)); err != nil {
		return nil, err
	}
	return append(baseEnvironment(dir, own), gitEnvironment(programs)...), nil
}

// baseEnvironment is the short list of what a command is told: where home is and
// which language is spoken, and nothing secret.
func baseEnvironment(dir, own string) []string {
	temp := filepath.Join(own, tempFolder)
	list := []string{
		"PATH=" + filepath.Join(own, programFolder) + string(os.PathListSeparator) + searchPath, "PWD=" + dir, "TMPDIR=" + temp,
		"TERM=dumb", "PAGER=cat", "MANPAGER=cat", "LESSSECURE=1", "NO_COLOR=1",
		"GOFLAGS=-mod=readonly -buildvcs=false", "GOTOOLCHAIN=local", "GOPROXY=off", "GOVCS=*:off", "GOENV=off",
		"GOCACHE=" + filepath.Join(temp, "go-build"), "GOWORK=", "CGO_ENABLED=0",
		"XDG_CONFIG_HOME=" + ownConfiguration(own),
	}
	for _, name := range []string{"HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "SYSTEMROOT"} {
		value, ok := os.LookupEnv(name)
		if locale := name == "LANG" || strings.HasPrefix(name, "LC_"); ok && (!locale || knownLocale.MatchString(value)) {
			list = append(list, name+"="+value)
		}
	}
	return list
}

// ownConfiguration is a folder for what programs note about themselves, in which only the
// configuration of git is the user's. Go is told there to note and to start nothing: no
// variable does.
func ownConfiguration(own string) string {
	folder := filepath.Join(own, "config")
	telemetry := filepath.Join(folder, "go", "telemetry")
	if user, err := os.UserConfigDir(); err == nil && os.MkdirAll(telemetry, 0o700) == nil {
		_ = os.Symlink(filepath.Join(user, "git"), filepath.Join(folder, "git"))
		_ = os.WriteFile(filepath.Join(telemetry, "mode"), []byte("off\n"), 0o600)
	}
	return folder
}

// gitEnvironment takes from git what asks a person or the network. What a repository could
// make it run is taken by runGit.
func gitEnvironment(programs string) []string {
	return []string{
		"GIT_EXEC_PATH=" + programs, "GIT_CONFIG_NOSYSTEM=1", "GIT_ATTR_NOSYSTEM=1", "GIT_PAGER=cat", "GIT_OPTIONAL_LOCKS=0",
		"GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=false", "GIT_SEQUENCE_EDITOR=false", "GIT_ASKPASS=false", "SSH_ASKPASS=false",
		"GIT_SSH_COMMAND=false", "GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1",
	}
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
