package worktree

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/planloop/planloop/internal/process"
)

// repository is git's information on a repository: that of the folder, or a nested one.
type repository struct {
	git   gitCommand
	head  string           // commit id; "" before the first commit
	dirty map[string]state // files that differ from that commit, by path in the folder
}

// Commit names the commit of a folder's repository, as in "4f2c1a7 with uncommitted changes"; "" without one.
func Commit(ctx context.Context, dir string) string {
	git, err := newGitCommand(ctx, dir)
	if err != nil {
		return ""
	}
	status, err := git.answer(ctx, "status", "--porcelain=v2", "-z", "--branch", "--no-renames", "--ignore-submodules=dirty")
	if err != nil {
		return ""
	}
	commit, changes := "", ""
	for record := range bytes.SplitSeq(status, []byte{0}) {
		oid, isCommit := strings.CutPrefix(string(record), "# branch.oid ")
		switch {
		case isCommit && oid != "(initial)":
			commit = oid[:min(len(oid), 7)]
		case len(record) > 0 && record[0] != '#':
			changes = " with uncommitted changes"
		}
	}
	if commit == "" {
		return ""
	}
	return commit + changes
}

// state is a file that differs from its commit.
type state struct {
	fingerprint
	staged string // the object in the index, if the file is identical to it; else ""
}

// Limits of git's output and of nested repositories.
const (
	maxAnswer = 64 << 20
	maxNested = 64
	maxDepth  = 4
)

// readRepository reads the repository of a folder, and the ones nested in it separately, because git itself would run commands
// that they configure. prefix is the beginning of its files' paths.
func (l *reader) readRepository(ctx context.Context, dir, prefix string, depth int) error {
	git, err := newGitCommand(ctx, dir)
	if err != nil {
		return err
	}
	status, err := git.answer(ctx, "status", "--porcelain=v2", "-z", "--branch", "--untracked-files=all", "--no-renames",
		"--ignore-submodules=dirty", "--", ".")
	if err != nil {
		return err
	}
	repo := repository{git: git, dirty: map[string]state{}}
	nested := git.submodules(ctx)
	for record := range bytes.SplitSeq(status, []byte{0}) {
		nested = append(nested, l.readRecord(&repo, string(record), prefix)...)
	}
	l.repos[prefix] = repo
	for _, name := range nested {
		if depth < maxDepth && len(l.repos) < maxNested && hasGit(filepath.Join(dir, filepath.FromSlash(name))) {
			_ = l.readRepository(ctx, filepath.Join(dir, filepath.FromSlash(name)), prefix+name+"/", depth+1) // skipped on an error
		}
	}
	return ctx.Err()
}

// hasGit reports whether a folder, but not a link, is the top of a work tree.
func hasGit(dir string) bool {
	info, err := os.Lstat(dir)
	_, git := os.Lstat(filepath.Join(dir, ".git"))
	return err == nil && info.IsDir() && git == nil
}

// readRecord reads a record of git status, and returns the folder if it is a nested work tree.
func (l *reader) readRecord(repo *repository, record, prefix string) (nested []string) {
	kind, rest, _ := strings.Cut(record, " ")
	switch kind {
	case "#":
		if oid, ok := strings.CutPrefix(rest, "branch.oid "); ok && oid != "(initial)" {
			repo.head = oid
		}
	case "?":
		name, inside := repo.git.relative(rest)
		if folder, ok := strings.CutSuffix(name, "/"); ok && inside {
			return []string{folder}
		}
		if inside {
			repo.dirty[prefix+name] = state{fingerprint: l.fingerprint(prefix+name, true)}
		}
	case "1", "u":
		fields := map[string]int{"1": 8, "u": 10}[kind]
		parts := strings.SplitN(rest, " ", fields)
		name, inside := repo.git.relative(parts[len(parts)-1])
		if len(parts) < fields || !inside || strings.HasPrefix(parts[1], "S") {
			return nil // submodules are read separately
		}
		s := state{fingerprint: l.fingerprint(prefix+name, true)}
		if kind == "1" && strings.HasSuffix(parts[0], ".") {
			s.staged = parts[6]
		}
		repo.dirty[prefix+name] = s
	}
	return nil
}

// compareRepository finds the changed files of a repository.
func (l *reader) compareRepository(ctx context.Context, was, now repository, prefix string, found map[string]bool) error {
	for name, was := range was.dirty {
		if is, still := now.dirty[name]; still && !was.same(is.fingerprint) || !still && !was.same(l.fingerprint(name, was.read)) {
			found[name] = true
		}
	}
	committed, err := now.git.committed(ctx, was.head, now.head)
	if err != nil {
		return err
	}
	for name, is := range now.dirty {
		if _, known := was.dirty[name]; known {
			continue
		}
		if old, ok := committed[strings.TrimPrefix(name, prefix)]; !ok || is.staged != old { // else only its commit has changed
			found[name] = true
		}
	}
	for name := range committed {
		_, before := was.dirty[prefix+name]
		if _, after := now.dirty[prefix+name]; !before && !after {
			found[prefix+name] = true
		}
	}
	return nil
}

// gitCommand runs git in a folder.
type gitCommand struct {
	program, dir string
	environment  []string
	inside       string // the folder's path in the work tree, ending in a slash; "" at the top
}

func newGitCommand(ctx context.Context, dir string) (gitCommand, error) {
	program, err := process.Look("git")
	if err != nil {
		return gitCommand{}, err
	}
	environment := append(append(SafeEnvironment(), process.NotFromHere()...), "PATH="+process.SearchPath, "LC_ALL=C")
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "SYSTEMROOT", "USERPROFILE"} {
		if value, ok := os.LookupEnv(name); ok {
			environment = append(environment, name+"="+value)
		}
	}
	g := gitCommand{program: program, dir: dir}
	if g.environment, _, err = DisablePrograms(ctx, program, dir, nil, environment); err != nil {
		return g, err
	}
	answer, err := g.answer(ctx, "rev-parse", "--is-inside-work-tree", "--show-prefix")
	if err != nil {
		return g, err
	}
	where, ok := strings.CutPrefix(string(answer), "true\n")
	if g.inside = strings.TrimSuffix(where, "\n"); !ok {
		return g, errors.New("the folder is in no work tree")
	}
	if g.inside == "" {
		return g, nil
	}
	if _, err := g.answer(ctx, "check-ignore", "-q", "."); err == nil {
		return g, errors.New("git ignores the folder")
	}
	return g, ctx.Err()
}

// answer returns git's output.
func (g gitCommand) answer(ctx context.Context, args ...string) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, g.program, args...)
	cmd.Dir, cmd.Env = g.dir, g.environment
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	answer, err := io.ReadAll(io.LimitReader(out, maxAnswer+1))
	if len(answer) > maxAnswer {
		err = fmt.Errorf("git %s answers more than %d bytes", args[0], maxAnswer)
		cancel()
	}
	return answer, errors.Join(err, cmd.Wait())
}

// relative converts a path to one relative to the folder, and reports whether it is inside.
func (g gitCommand) relative(path string) (name string, inside bool) {
	return strings.CutPrefix(path, g.inside)
}

// submodules returns the folders of submodules in the index.
func (g gitCommand) submodules(ctx context.Context) (folders []string) {
	listed, err := g.answer(ctx, "ls-files", "--stage", "-z")
	if err != nil {
		return nil
	}
	for record := range bytes.SplitSeq(listed, []byte{0}) {
		if facts, name, ok := strings.Cut(string(record), "\t"); ok && strings.HasPrefix(facts, "160000 ") {
			folders = append(folders, name)
		}
	}
	return folders
}

// committed returns the files that differ between two commits, with their objects in the first one.
func (g gitCommand) committed(ctx context.Context, from, to string) (map[string]string, error) {
	if from == to {
		return nil, nil
	}
	empty := map[int]string{ // the empty tree, by the length of object ids
		40: "4b825dc642cb6eb9a060e54bf8d69288fbee4904", 64: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
	}[max(len(from), len(to))]
	raw, err := g.answer(ctx, "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--no-ext-diff", "--no-textconv",
		cmp.Or(from, empty), cmp.Or(to, empty), "--", ".")
	files := map[string]string{}
	records := strings.Split(string(raw), "\x00")
	for i := 0; i+1 < len(records); i += 2 {
		facts := strings.Fields(records[i])
		name, inside := g.relative(records[i+1])
		if len(facts) == 5 && inside && facts[0] != ":160000" && facts[1] != "160000" {
			files[name] = facts[2]
		}
	}
	return files, err
}

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
