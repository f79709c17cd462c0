package shell_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/shell"
)

// armed is a folder with repositories that name a program wherever git accepts one.
type armed struct {
	t        *testing.T
	dir, spy string
}

// A spy leaves a trace in the file, where it may write, and on both streams.
const spyText = `#!/bin/sh
echo SPIED-$0 "$@" >&2
echo SPIED "$@" >>RANFILE
echo SPIED
cat
`

func newArmed(t *testing.T) armed {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
	h := armed{t, t.TempDir(), filepath.Join(home, "spy")}
	h.write(h.spy, strings.ReplaceAll(spyText, "RANFILE", h.ran()), 0o700)
	h.write(filepath.Join(home, "signer"), "#!/bin/sh\ncat >/dev/null\necho '[GNUPG:] SIG_CREATED D' >&2\n"+
		"printf -- '-----BEGIN PGP SIGNATURE-----\\n\\nx\\n-----END PGP SIGNATURE-----\\n'\n", 0o700)
	h.git("", "init", "-q", "-b", "main")
	h.write("top.txt", "one\n", 0o600)
	h.write(".gitmodules", "[submodule \"sub\"]\n\tpath = sub\n\turl = ./sub\n", 0o600)
	for _, nested := range []string{"nest", "sub"} {
		h.repository(nested)
	}
	h.git("", "add", "top.txt", ".gitmodules", "sub")
	h.git("", "commit", "-qm", "first")
	h.git("", "config", "submodule.sub.url", "./sub")
	h.git("nest", "worktree", "add", "-q", "../tree")
	for _, nested := range []string{"nest", "sub"} {
		h.arm(nested)
	}
	h.write("sub/a.txt", "three\n", 0o600)
	h.write("tree/a.txt", "three\n", 0o600)
	h.write("bare/HEAD", "ref: refs/heads/main\n", 0o600)
	h.write("bare/config", "[core]\n\tbare = true\n\tfsmonitor = "+h.spy+"\n[diff]\n\texternal = "+h.spy+"\n", 0o600)
	for _, folder := range []string{"bare/objects", "bare/refs"} {
		if err := os.MkdirAll(filepath.Join(h.dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func (h armed) ran() string { return filepath.Join(filepath.Dir(h.spy), "ran") }

func (h armed) git(dir string, args ...string) {
	h.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", filepath.Join(h.dir, dir), "-c", "user.name=n", "-c", "user.email=e@e", "-c",
		"gpg.program=" + filepath.Join(filepath.Dir(h.spy), "signer")}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		h.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func (h armed) write(name, text string, mode os.FileMode) {
	h.t.Helper()
	if !filepath.IsAbs(name) {
		name = filepath.Join(h.dir, name)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		h.t.Fatal(err)
	}
}

// repository makes one with a signed commit, a merge, a stash and a missing object.
func (h armed) repository(dir string) {
	h.t.Helper()
	h.write(dir+"/a.txt", "one\n", 0o600)
	h.write(dir+"/gone.md", "gone\n", 0o600)
	h.write(dir+"/b.go", "one\n", 0o600)
	h.write(dir+"/.gitattributes", "*.txt diff=spy filter=spy merge=spy\n*.bin diff=outside\n*.odd diff=O.d-d filter=O.d-d\n", 0o600)
	h.write(dir+"/c.bin", "one\n", 0o600)
	h.write(dir+"/d.odd", "one\n", 0o600)
	h.git(dir, "init", "-q", "-b", "main")
	h.git(dir, "add", ".")
	h.git(dir, "commit", "-q", "-S", "-m", "first\n\nIssue: 1")
	h.git(dir, "switch", "-qc", "other")
	h.write(dir+"/a.txt", "two\n", 0o600)
	h.git(dir, "commit", "-qam", "other")
	h.git(dir, "switch", "-q", "main")
	h.write(dir+"/b.go", "two\n", 0o600)
	h.git(dir, "commit", "-qam", "main")
	h.git(dir, "merge", "-q", "-m", "both", "other")
	h.write(dir+"/a.txt", "stashed\n", 0o600)
	h.git(dir, "stash", "-q")
	h.git(dir, "tag", "-m", "tag", "v1")
}

// arm configures programs for everything, in the repository's own file and in one that it includes.
func (h armed) arm(dir string) {
	h.t.Helper()
	for _, key := range strings.Fields(`
		diff.external diff.spy.textconv diff.default.textconv diff.default.command diff.golang.textconv diff.outside.command
		diff.spy.command filter.spy.clean filter.spy.smudge filter.spy.process merge.spy.driver merge.default.driver
		core.fsmonitor core.pager core.editor core.sshCommand core.alternateRefsCommand core.gitProxy core.askPass
		sequence.editor pager.log pager.diff pager.show pager.status pager.branch pager.tag pager.config gpg.program
		gpg.openpgp.program gpg.ssh.program gpg.x509.program gpg.ssh.defaultKeyCommand credential.helper
		credential.https://x.helper interactive.diffFilter trailer.issue.command trailer.issue.cmd hook.spy.command
		remote.origin.uploadpack remote.origin.receivepack remote.origin.vcs uploadpack.packObjectsHook
		diff.tool difftool.spy.cmd merge.tool mergetool.spy.cmd help.browser browser.spy.cmd web.browser man.viewer`) {
		h.git(dir, "config", key, h.spy)
	}
	for _, pair := range []string{
		"diff.spy.cachetextconv=true", "filter.spy.required=true", "log.showSignature=true", "log.diffMerges=remerge",
		"format.pretty=format:%h %G? %GS", "pretty.signed=format:%G?", "status.submoduleSummary=true", "diff.submodule=diff",
		"diff.ignoreSubmodules=none", "core.untrackedCache=true", "index.threads=1", "submodule.recurse=true",
		"extensions.partialClone=origin", "remote.origin.promisor=true", "remote.origin.url=ext::" + h.spy + " %S",
		"core.repositoryFormatVersion=1", "hook.spy.event=post-index-change", "core.hooksPath=hooks",
		"alias.lfs=!" + h.spy, "alias.foo=!" + h.spy, "alias.status=!" + h.spy, "include.path=included", "protocol.ext.allow=always",
	} {
		key, value, _ := strings.Cut(pair, "=")
		h.git(dir, "config", key, value)
	}
	h.write(dir+"/.git/included", fmt.Sprintf("[diff \"O.d-d\"]\n\ttextconv = %[1]s\n\tcommand = sh -c %[1]s\n"+
		"[filter \"O.d-d\"]\n\tclean = %[1]s\n", h.spy), 0o600)
	h.write(dir+"/.git/info/attributes", "*.go diff=golang filter=spy\n", 0o600)
	for _, hook := range []string{"post-index-change", "pre-auto-gc", "reference-transaction", "fsmonitor-watchman", "post-checkout"} {
		h.write(dir+"/.git/hooks/"+hook, "#!/bin/sh\nexec "+h.spy+" hook\n", 0o700)
		h.write(dir+"/hooks/"+hook, "#!/bin/sh\nexec "+h.spy+" hook\n", 0o700)
	}
	for _, name := range []string{"a.txt", "b.go", "c.bin", "d.odd"} {
		h.write(dir+"/"+name, "changed\n", 0o600)
	}
	gone := exec.Command("git", "-C", filepath.Join(h.dir, dir), "-c", "core.fsmonitor=false", "rev-parse", "HEAD:gone.md")
	out, err := gone.Output()
	if err != nil {
		h.t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(h.dir, dir, ".git/objects", string(out[:2]), strings.TrimSpace(string(out[2:])))); err != nil {
		h.t.Fatal(err)
	}
	_ = os.Remove(h.ran())
}

const mark = "\x01"

// readings are the commands run in a repository: those that the classifier allows, and some more.
const readings = `status
status -v -v
status --porcelain --ignored
diff
diff HEAD
diff --stat
diff --cached
diff --submodule=diff
diff -- c.bin
diff --no-index a.txt b.go
diff --word-diff -- b.go
diff-files -p
diff-index -p HEAD
diff-tree -p HEAD
log
log -p
log -p -m
log -p --submodule=diff
log -p --cc
log --pretty=signed
log --format="%(trailers)"
log -S two
log -G two
log --follow -p -- a.txt
log -L1,1:a.txt
log --alternate-refs
rev-list --alternate-refs
show
show HEAD
show HEAD:a.txt
show HEAD:gone.md
show v1
show --stat main
show -m
blame a.txt
annotate b.go
reflog
reflog -p
reflog show -p
stash list
stash list -p
stash show
stash show -p
grep one
grep two HEAD
ls-files -m
ls-files --eol
ls-tree -r HEAD
cat-file -p HEAD:gone.md
cat-file -p HEAD
range-diff main~1...other
shortlog -sn
branch -vv
branch --list
tag -l -n
for-each-ref
worktree list
submodule status
submodule summary
config --list
config --get-regexp diff
apply --check fix.patch
apply --stat fix.patch
check-attr -a a.txt
check-ignore a.txt
remote -v
rev-parse HEAD
notes list
notes show
bisect log
cherry main other
show-branch
name-rev HEAD
count-objects -v
var -l
lfs
foo`

// TestGitRunsNothingOfTheRepository: a repository's configuration names programs for nearly everything, and git is
// started in the command's folder or elsewhere.
func TestGitRunsNothingOfTheRepository(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts git a thousand times")
	}
	h := newArmed(t)
	h.write("nest/fix.patch", "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-changed\n+fixed\n", 0o600)
	said := map[string]string{}
	some := "status\ndiff\nlog -p\nshow HEAD:gone.md\nblame a.txt\nfoo"
	for form, asked := range map[string]string{"git -C nest %s": readings, "(cd sub; git %s)": readings, "git %s": readings,
		"(cd nest; git %s)": some, "git -C tree %s": some, "git --no-pager -C . -C nest/hooks/.. %s": some,
		"find nest/.git -maxdepth 0 -execdir git %s \\;": some, "(cd nest/.git; git %s)": some, "(cd bare; git %s)": some,
		"echo x | xargs -I{} git -C nest %s": some} {
		var all strings.Builder
		for reading := range strings.Lines(asked) {
			fmt.Fprintf(&all, "echo '"+mark+"%[1]s'; %[1]s\n", fmt.Sprintf(form, strings.TrimSpace(reading)))
		}
		got := run(t, h.dir, "exec 2>&1\n"+all.String(), limited(t, func(o *shell.RunOptions) { o.MaxOutput = 4 << 20 }))
		for part := range strings.SplitSeq(got.Stdout, mark) {
			command, text, _ := strings.Cut(part, "\n")
			if said[command] = text; strings.Contains(text, "SPIED") {
				t.Errorf("%s ran a program of the repository: %s", command, text)
			}
		}
		if text, err := os.ReadFile(h.ran()); err == nil {
			t.Errorf("%s ran a program of the repository: %s", form, text)
			_ = os.Remove(h.ran())
		}
	}
	for command, part := range map[string]string{
		"git -C nest diff": "+changed", "git -C tree diff": "+three", "(cd nest; git status)": "modified:   a.txt",
		"git -C nest log": " N ", "git -C nest show HEAD:a.txt": "two", "git status": "modified:   sub",
		"git diff --submodule=diff": "+three", "git submodule status": " sub (", "git -C nest reflog": "commit",
		"git -C nest stash show -p": "+stashed", "git -C nest range-diff main~1...other": "other",
	} {
		if !strings.Contains(said[command], part) {
			t.Errorf("%s says %q, not %q", command, said[command], part)
		}
	}
}

// TestGitWithoutAnAnswer: if git cannot list its configuration, nothing runs.
func TestGitWithoutAnAnswer(t *testing.T) {
	h := newArmed(t)
	h.write("nest/.git/config", "[diff \"spy\"]\n\ttextconv = "+h.spy+"\n[broken\n", 0o600)
	for _, command := range []string{"git -C nest diff", "git -C nest --git-dir=.git diff", "git -c diff.external=x diff",
		"git --exec-path=nest foo", "git --config-env=diff.external=HOME diff", "git -Cnest diff"} {
		got := run(t, h.dir, command, confined(t))
		if got.ExitCode == 0 || !strings.Contains(got.Stderr, "planloop: git:") || strings.Contains(got.Stdout+got.Stderr, "SPIED") {
			t.Errorf("%s: %+v", command, got)
		}
	}
	if got := run(t, t.TempDir(), "git status; git version", confined(t)); !strings.Contains(got.Stderr, "not a git repository") ||
		!strings.Contains(got.Stdout, "git version") {
		t.Errorf("%+v", got)
	}
}
