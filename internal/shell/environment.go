package shell

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/worktree"
)

// surroundings sets up the command's own folder and returns its environment.
func surroundings(dir, own, launcher string) ([]string, error) {
	programs := filepath.Join(own, programFolder)
	if err := errors.Join(os.Mkdir(filepath.Join(own, tempFolder), 0o700), installGit(programs, launcher)); err != nil {
		return nil, err
	}
	return slices.Concat(baseEnvironment(dir, own), worktree.SafeEnvironment(), process.NotFromHere(),
		[]string{"GIT_EXEC_PATH=" + programs}), nil
}

// baseEnvironment returns the short list of variables a command gets: paths, home and language, no secrets.
func baseEnvironment(dir, own string) []string {
	temp := filepath.Join(own, tempFolder)
	list := []string{
		"PATH=" + filepath.Join(own, programFolder) + string(os.PathListSeparator) + process.SearchPath, "PWD=" + dir, "TMPDIR=" + temp,
		"TERM=dumb", "PAGER=cat", "MANPAGER=cat", "LESSSECURE=1", "NO_COLOR=1",
		"GOFLAGS=-mod=readonly -buildvcs=false", "GOTOOLCHAIN=local", "GOPROXY=off", "GOVCS=*:off", "GOENV=off",
		"GOCACHE=" + filepath.Join(temp, "go-build"), "GOWORK=", "CGO_ENABLED=0",
		"XDG_CONFIG_HOME=" + ownConfiguration(own),
	}
	for _, name := range []string{"HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "SYSTEMROOT"} {
		value, ok := os.LookupEnv(name)
		if locale := name == "LANG" || strings.HasPrefix(name, "LC_"); ok && (!locale || knownLocale().MatchString(value)) {
			list = append(list, name+"="+value)
		}
	}
	return list
}

// ownConfiguration creates a configuration folder that holds only git's configuration of the user. Its telemetry file
// makes Go record and start nothing: no environment variable does that.
func ownConfiguration(own string) string {
	folder := filepath.Join(own, "config")
	telemetry := filepath.Join(folder, "go", "telemetry")
	if user, err := os.UserConfigDir(); err == nil && os.MkdirAll(telemetry, 0o700) == nil {
		_ = os.Symlink(filepath.Join(user, "git"), filepath.Join(folder, "git"))
		_ = os.WriteFile(filepath.Join(telemetry, "mode"), []byte("off\n"), 0o600)
	}
	return folder
}
