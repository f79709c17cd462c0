package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/quietgit"
)

// repository is what git says of one, of the folder itself or of one nested in it.
type repository struct {
	git   gitCommand
	head  string           // the commit; "": there is none yet
	dirty map[string]state // the files that are not as in that commit, by their paths in the folder
}

// state is how a file stands otherwise than in its commit.
type state struct {
	mark
	staged string // the object in the index, where the file is like that; else ""
}

// Bounds of what git answers and of what is nested.
const (
	mostAnswer = 64 << 20
	mostNested = 64
	deepest    = 4
)

// into looks at the repository of a folder, and at those nested in it, since git itself would run in
// there what they name. The paths of its files begin with prefix.
func (l *look) into(ctx context.Context, dir, prefix string, depth int) error {
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
		nested = append(nested, l.take(&repo, string(record), prefix)...)
	}
	l.repos[prefix] = repo
	for _, name := range nested {
		if depth < deepest && len(l.repos) < mostNested && hasGit(filepath.Join(dir, filepath.FromSlash(name))) {
			_ = l.into(ctx, filepath.Join(dir, filepath.FromSlash(name)), prefix+name+"/", depth+1) // else it is passed over
		}
	}
	return ctx.Err()
}

// hasGit reports whether a folder, which is no link, is the top of a work tree.
func hasGit(dir string) bool {
	info, err := os.Lstat(dir)
	_, git := os.Lstat(filepath.Join(dir, ".git"))
	return err == nil && info.IsDir() && git == nil
}

// take takes over a record of git status, and returns the folder that is a work tree of its own.
func (l *look) take(repo *repository, record, prefix string) (nested []string) {
	kind, rest, _ := strings.Cut(record, " ")
	switch kind {
	case "#":
		if oid, ok := strings.CutPrefix(rest, "branch.oid "); ok && oid != "(initial)" {
			repo.head = oid
		}
	case "?":
		name, inside := repo.git.below(rest)
		if folder, ok := strings.CutSuffix(name, "/"); ok && inside {
			return []string{folder}
		}
		if inside {
			repo.dirty[prefix+name] = state{mark: l.mark(prefix+name, true)}
		}
	case "1", "u":
		fields := map[string]int{"1": 8, "u": 10}[kind]
		parts := strings.SplitN(rest, " ", fields)
		name, inside := repo.git.below(parts[len(parts)-1])
		if len(parts) < fields || !inside || strings.HasPrefix(parts[1], "S") {
			return nil // the files of a submodule are looked at there
		}
		s := state{mark: l.mark(prefix+name, true)}
		if kind == "1" && strings.HasSuffix(parts[0], ".") {
			s.staged = parts[6]
		}
		repo.dirty[prefix+name] = s
	}
	return nil
}

// changed finds what has changed in a repository.
func (l *look) changed(ctx context.Context, was, now repository, prefix string, found map[string]bool) error {
	for name, was := range was.dirty {
		if is, still := now.dirty[name]; still && !was.same(is.mark) || !still && !was.same(l.mark(name, was.read)) {
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
		if old, ok := committed[strings.TrimPrefix(name, prefix)]; !ok || is.staged != old { // else its commit alone is another one
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

// gitCommand asks git about the repository of a folder.
type gitCommand struct {
	program, dir string
	environment  []string
	inside       string // where the folder is in the work tree, with a slash at its end; "" at its top
}

func newGitCommand(ctx context.Context, dir string) (gitCommand, error) {
	program, err := process.Look("git")
	if err != nil {
		return gitCommand{}, err
	}
	environment := append(append(quietgit.Environment(), process.NotFromHere()...), "PATH="+process.SearchPath, "LC_ALL=C")
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "SYSTEMROOT", "USERPROFILE"} {
		if value, ok := os.LookupEnv(name); ok {
			environment = append(environment, name+"="+value)
		}
	}
	g := gitCommand{program: program, dir: dir}
	if g.environment, _, err = quietgit.Silenced(ctx, program, dir, nil, environment); err != nil {
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

// answer is what git prints.
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
	answer, err := io.ReadAll(io.LimitReader(out, mostAnswer+1))
	if len(answer) > mostAnswer {
		err = fmt.Errorf("git %s answers more than %d bytes", args[0], mostAnswer)
		cancel()
	}
	return answer, errors.Join(err, cmd.Wait())
}

// below is a path as it is called in the folder, and whether it is in there.
func (g gitCommand) below(path string) (name string, inside bool) {
	return strings.CutPrefix(path, g.inside)
}

// submodules are the folders of other repositories in the index.
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

// committed are the files that differ between two commits, with the objects in the first one.
func (g gitCommand) committed(ctx context.Context, from, to string) (map[string]string, error) {
	if from == to {
		return nil, nil
	}
	empty := map[int]string{ // the tree that holds nothing, by the length of names
		40: "4b825dc642cb6eb9a060e54bf8d69288fbee4904", 64: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
	}[max(len(from), len(to))]
	if from == "" {
		from = empty
	}
	if to == "" {
		to = empty
	}
	raw, err := g.answer(ctx, "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--no-ext-diff", "--no-textconv", from, to,
		"--", ".")
	files := map[string]string{}
	records := strings.Split(string(raw), "\x00")
	for i := 0; i+1 < len(records); i += 2 {
		facts := strings.Fields(records[i])
		name, inside := g.below(records[i+1])
		if len(facts) == 5 && inside && facts[0] != ":160000" && facts[1] != "160000" {
			files[name] = facts[2]
		}
	}
	return files, err
}
