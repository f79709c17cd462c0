package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// SafeEnvironment prevents git from asking a person or the network. DisablePrograms handles the programs that a repository could
// make it run.
func SafeEnvironment() []string {
	return []string{
		"GIT_CONFIG_NOSYSTEM=1", "GIT_ATTR_NOSYSTEM=1", "GIT_PAGER=cat", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0",
		"GIT_EDITOR=false", "GIT_SEQUENCE_EDITOR=false", "GIT_ASKPASS=false", "SSH_ASKPASS=false", "GIT_SSH_COMMAND=false",
		"GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1",
	}
}

// DisablePrograms returns an environment in which git runs nothing that its configuration names, in the repository that dir
// and the git options select. It fails if git cannot list the configuration, and code is then git's exit code.
func DisablePrograms(ctx context.Context, git, dir string, options, environment []string) (silenced []string, code int, err error) {
	settings := fixedSettings()
	environment = slices.DeleteFunc(slices.Clone(environment), func(v string) bool { return strings.HasPrefix(v, "GIT_CONFIG_") })
	cmd := exec.CommandContext(ctx, git,
		append(slices.Clone(options), "config", "--null", "--name-only", "--get-regexp", programNames)...)
	cmd.Dir, cmd.Env = dir, withSettings(environment, settings)
	names, code, err := listNames(cmd)
	for _, name := range names {
		settings[name] = harmlessValue(name)
	}
	return withSettings(environment, settings), code, err
}

// programNames matches the program settings that have a free part in their names.
const programNames = `^(diff\..*\.(command|textconv|cachetextconv)|filter\..*\.(clean|smudge|process|required)|merge\..*\.driver|` +
	`man\..*\.(cmd|path)|` +
	`hook\..*\.(command|event|enabled)|gpg\.(.*\.)?(program|defaultkeycommand)|credential\..*\.helper|(pager|alias)\..*)$`

// listNames returns the names that a git config command lists. If git cannot read the configuration, that is an error, not an empty result.
func listNames(cmd *exec.Cmd) (names []string, code int, err error) {
	out, err := cmd.Output()
	failed, ok := errors.AsType[*exec.ExitError](err)
	if ok && failed.ExitCode() == 1 && len(out) == 0 && len(failed.Stderr) == 0 {
		return nil, 0, nil // no matches
	}
	if ok {
		return nil, failed.ExitCode(), fmt.Errorf("read the configuration: %s", bytes.TrimSpace(failed.Stderr))
	}
	if err != nil {
		return nil, 126, err
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), 0, nil
}

// harmlessValue returns a value that makes a program setting run nothing.
func harmlessValue(name string) string {
	switch name[strings.LastIndexByte(name, '.')+1:] {
	case "required", "cachetextconv", "enabled", "driver", "program", "defaultkeycommand":
		return "false"
	case "textconv":
		return "cat"
	case "cmd", "path": // of man
		return "man"
	}
	return ""
}

// fixedSettings returns the values that make git run nothing, for the settings with fixed names.
func fixedSettings() map[string]string {
	return map[string]string{
		"core.fsmonitor": "false", "core.hooksPath": os.DevNull, "core.pager": "cat", "core.alternateRefsCommand": "false",
		"core.sshCommand": "false", "core.untrackedCache": "keep", "credential.helper": "", "gpg.program": "false",
		"gpg.openpgp.program": "false", "gpg.ssh.program": "false", "gpg.x509.program": "false", "log.showSignature": "false",
		"log.diffMerges": "separate", "protocol.allow": "never", "safe.bareRepository": "explicit", "submodule.recurse": "false",
		"interactive.diffFilter": "cat", "maintenance.auto": "false", "gc.auto": "0", "diff.autoRefreshIndex": "false",
		"help.format": "man", "man.viewer": "man",
	}
}

// withSettings returns an environment with settings that override all configuration files.
func withSettings(environment []string, settings map[string]string) []string {
	list := append(slices.Clone(environment), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_COUNT="+strconv.Itoa(len(settings)))
	for i, name := range slices.Sorted(maps.Keys(settings)) {
		list = append(list, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, name), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, settings[name]))
	}
	return list
}
