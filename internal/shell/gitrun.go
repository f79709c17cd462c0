package shell

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/planloop/planloop/internal/process"
)

// installGit makes a folder of programs in which git is the launcher. It comes first in
// the command's PATH, and is where git looks for its own commands, so that each git is
// started by runGit, for the repository that it works on: those within submodules, too.
func installGit(folder, launcher string) error {
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	if runtime.GOOS == "windows" {
		return linkOrCopy(launcher, filepath.Join(folder, gitName+".exe"))
	}
	git, err := lookProgram(gitName)
	if err != nil {
		return nil // there is none to be kept from anything
	}
	for _, script := range gitScripts(git) {
		if err := os.Symlink(script, filepath.Join(folder, filepath.Base(script))); err != nil {
			return err
		}
	}
	return os.Symlink(launcher, filepath.Join(folder, gitName))
}

// linkOrCopy gives a program a second name. A link goes to no other drive, and not to
// what is an administrator's.
func linkOrCopy(program, name string) error {
	if os.Link(program, name) == nil {
		return nil
	}
	data, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o700)
}

// gitScripts are those commands of git that read and are scripts.
func gitScripts(git string) []string {
	if real, err := filepath.EvalSymlinks(git); err == nil {
		git = real
	}
	prefix := filepath.Dir(filepath.Dir(git))
	var found []string
	for _, folder := range []string{"lib/git-core", "libexec/git-core"} {
		for _, name := range []string{"git-submodule", "git-bisect", "git-sh-*"} {
			paths, _ := filepath.Glob(filepath.Join(prefix, folder, name)) // fails for bad patterns alone
			found = append(found, paths...)
		}
	}
	return found
}

// runGit runs git for a command, so that nothing runs which the repository names: not the
// one where the command began, but the one on which this git works.
func runGit(args []string) (code int, err error) {
	git, err := lookProgram(gitName)
	if err != nil {
		return 127, err
	}
	at, err := gitCommandAt(args)
	if err != nil {
		return 129, err
	}
	settings := gitSettings()
	environment := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GIT_CONFIG_") })
	names, code, err := gitNames(git, args[:at], withSettings(environment, settings))
	if err != nil {
		return code, err
	}
	for _, name := range names {
		settings[name] = silenced(name)
	}
	args = slices.Clone(args)
	if at < len(args) && slices.Contains([]string{"diff", "diff-files", "diff-index", "diff-tree", "log", "show"}, args[at]) {
		args = slices.Insert(args, at+1, "--no-ext-diff", "--no-textconv")
	}
	if at == len(args) || !slices.Contains([]string{"submodule", "bisect"}, args[at]) {
		if err := runGitOnly(git); err != nil {
			return 126, err
		}
	}
	cmd := exec.Command(git, args...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = withSettings(environment, settings), os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); cmd.ProcessState == nil {
		return 126, err
	}
	return process.ExitCode(cmd.ProcessState), nil
}

// gitCommandAt returns where the command of git stands, behind the options that the judge
// lets pass, and one by which scripts of git ask where they are.
func gitCommandAt(args []string) (int, error) {
	known := listed("git").arities
	for i := 0; i < len(args); i++ {
		kind, ok := known[args[i]]
		switch {
		case !strings.HasPrefix(args[i], "-"):
			return i, nil
		case !ok && args[i] != "--exec-path":
			return 0, fmt.Errorf("the option %s is not among those that are allowed while only reading is", args[i])
		case kind == valued:
			i++
		}
	}
	return len(args), nil
}

// programNames are the settings that name programs under names that are free.
const programNames = `^(diff\..*\.(command|textconv|cachetextconv)|filter\..*\.(clean|smudge|process|required)|merge\..*\.driver|` +
	`hook\..*\.(command|event|enabled)|gpg\.(.*\.)?(program|defaultkeycommand)|credential\..*\.helper|(pager|alias)\..*)$`

// gitNames asks git for what it is configured with by such a name, in a repository that
// options lead to. That it cannot tell is no answer.
func gitNames(git string, options, environment []string) (names []string, code int, err error) {
	cmd := exec.Command(git, append(slices.Clone(options), "config", "--null", "--name-only", "--get-regexp", programNames)...)
	cmd.Env = environment
	out, err := cmd.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) && failed.ExitCode() == 1 && len(out) == 0 && len(failed.Stderr) == 0 {
		return nil, 0, nil // there are none
	}
	if failed != nil {
		return nil, failed.ExitCode(), fmt.Errorf("read the configuration: %s", bytes.TrimSpace(failed.Stderr))
	}
	if err != nil {
		return nil, 126, err
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), 0, nil
}

// silenced is a value with which a setting that names a program runs none.
func silenced(name string) string {
	switch name[strings.LastIndexByte(name, '.')+1:] {
	case "required", "cachetextconv", "enabled", "driver", "program", "defaultkeycommand":
		return "false"
	case "textconv":
		return "cat"
	}
	return ""
}

// gitSettings are the settings with which git runs nothing, by names that it gives itself.
func gitSettings() map[string]string {
	return map[string]string{
		"core.fsmonitor": "false", "core.hooksPath": os.DevNull, "core.pager": "cat", "core.alternateRefsCommand": "false",
		"core.sshCommand": "false", "core.untrackedCache": "keep", "credential.helper": "", "gpg.program": "false",
		"gpg.openpgp.program": "false", "gpg.ssh.program": "false", "gpg.x509.program": "false", "log.showSignature": "false",
		"log.diffMerges": "separate", "protocol.allow": "never", "safe.bareRepository": "explicit", "submodule.recurse": "false",
		"interactive.diffFilter": "cat", "maintenance.auto": "false", "gc.auto": "0", "diff.autoRefreshIndex": "false",
	}
}

// withSettings is an environment with settings that come before those of all files.
func withSettings(environment []string, settings map[string]string) []string {
	list := append(slices.Clone(environment), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_COUNT="+strconv.Itoa(len(settings)))
	for i, name := range slices.Sorted(maps.Keys(settings)) {
		list = append(list, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, name), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, settings[name]))
	}
	return list
}

// runGitOnly keeps git from running anything but itself, where the system can: what nobody
// knows yet that a repository may name.
func runGitOnly(git string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cat, err := lookProgram("cat")
	if err != nil {
		return err
	}
	return runOnly(git, self, cat)
}
