package shell

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/sandbox"
	"github.com/planloop/planloop/internal/worktree"
)

// installGit creates a folder in which git is the launcher. The folder comes first in the command's PATH, and git looks
// there for its own commands, so that runGit starts every git, also those in submodules, for the repository it works
// on.
func installGit(folder, launcher string) error {
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	if runtime.GOOS == "windows" {
		return linkOrCopy(launcher, filepath.Join(folder, gitName+".exe"))
	}
	git, err := process.Look(gitName)
	if err != nil {
		return nil // without git, nothing needs to be restricted
	}
	for _, script := range gitScripts(git) {
		if err := os.Symlink(script, filepath.Join(folder, filepath.Base(script))); err != nil {
			return err
		}
	}
	return os.Symlink(launcher, filepath.Join(folder, gitName))
}

// linkOrCopy gives a program a second name. A link cannot cross drives, nor name an administrator's file.
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

// gitScripts returns the reading git commands that are scripts.
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

// runGit runs git so that nothing runs that the repository names. This is the repository that this git works on, which
// may differ from the one where the command began.
func runGit(args []string) (code int, err error) {
	git, err := process.Look(gitName)
	if err != nil {
		return 127, err
	}
	at, err := gitCommandAt(args)
	if err != nil {
		return 129, err
	}
	environment, code, err := worktree.DisablePrograms(context.Background(), git, "", args[:at], os.Environ())
	if err != nil {
		return code, err
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
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = environment, os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); cmd.ProcessState == nil {
		return 126, err
	}
	return process.ExitCode(cmd.ProcessState), nil
}

// gitCommandAt returns the index of git's command, after the options that the classifier allows and --exec-path, by which
// git's scripts find their folder.
func gitCommandAt(args []string) (int, error) {
	known := listed("git").read().arities
	for i := 0; i < len(args); i++ {
		kind, ok := known[args[i]]
		switch {
		case !strings.HasPrefix(args[i], "-"):
			return i, nil
		case !ok && args[i] != "--exec-path":
			return 0, fmt.Errorf("the option %s is not allowed while commands may only read", args[i])
		case kind == valued:
			i++
		}
	}
	return len(args), nil
}

// runGitOnly keeps git from running other programs, if the system can. This covers ways to name one that are not known
// yet.
func runGitOnly(git string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cat, err := process.Look("cat")
	if err != nil {
		return err
	}
	return sandbox.RunOnly(git, self, cat)
}
