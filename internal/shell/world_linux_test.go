//go:build linux && amd64

package shell_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// layOut makes a scratch world: a home, and a workspace in which every possible option, configuration or code tries to
// write PWNED or to run ./canary.
//
//	home        empty, but for the folders of go
//	ws          a repository with hostile configuration; most commands run here
//	ws/nest     a repository in it, with its own
//	super       a repository with a submodule, each with its own
//	ws/bare     the same without a work tree, and ws/gitfile with one of its own
//	ws/hN       folders with a few files named like options
//	plain       only files, for commands as a host's own shell runs them
func layOut(root string) error {
	var faults []error
	write := func(mode fs.FileMode, name, content string) {
		name = filepath.Join(root, name)
		faults = append(faults, os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(content), mode))
	}
	faults = append(faults, os.MkdirAll(filepath.Join(root, "home/go/pkg/mod/cache/download"), 0o755))
	for _, dir := range []string{"plain", "ws"} {
		for name, content := range plainFiles() {
			write(0o644, dir+"/"+name, content)
		}
		for i, names := range hostileNames() {
			for _, name := range names {
				write(0o644, fmt.Sprintf("%s/h%d/%s", dir, i, name), "one\ntwo touch PWNED\n")
			}
			write(0o755, fmt.Sprintf("%s/h%d/canary", dir, i), canary)
			write(0o755, fmt.Sprintf("%s/h%d/x", dir, i), canary)
		}
		for _, name := range []string{"canary", "x", "touch", "ls", "cat", "git", "sub/canary", "sub/sh"} {
			write(0o755, dir+"/"+name, canary)
		}
		faults = append(faults, os.Symlink("a.txt", filepath.Join(root, dir, "link")),
			os.Symlink("/dev/tcp/127.0.0.1/80", filepath.Join(root, dir, "dangling")), archives(filepath.Join(root, dir)))
	}
	for name, content := range hostileConfiguration() {
		write(0o644, "ws/"+name, content)
	}
	for _, dir := range []string{"ws/nest", "super/module", "super", "ws"} {
		faults = append(faults, repository(filepath.Join(root, dir)))
	}
	for _, dir := range []string{"ws/nest", "super/module", "super", "ws"} { // each with its own names
		faults = append(faults, hostile(filepath.Join(root, dir), "evil-"+filepath.Base(dir)))
	}
	faults = append(faults, exec.Command("cp", "-r", filepath.Join(root, "ws/nest/.git"), filepath.Join(root, "ws/bare")).Run())
	write(0o644, "ws/gitfile/.git", "gitdir: ../nest/.git\n")
	time.Sleep(2 * time.Millisecond) // all later timestamps differ
	return errors.Join(faults...)
}

const canary = "#!/bin/sh\ntouch PWNED\n"

func plainFiles() map[string]string {
	return map[string]string{
		"a.txt": "one 1\ntwo 2\nthree 3\n", "b.txt": "one 1\ntwo two\nfour 4\n", "main.go": "package main\n\nfunc main() {}\n",
		"go.mod": "module example.com/x\n\ngo 1.21\n\ntoolchain go1.99.9\n", "README.md": "# Title\n\nTODO: text --pre\n",
		"data.json": `{"a": [1, 2, {"b": "touch PWNED"}], "c": "$(touch PWNED)"}`, "data.yaml": "a:\n  - b: 1\n  - c: !!str x\n",
		"f.csv": "x,y,z\n1,2,3\n4,5,6\n", "app.log": "2026-01-01 ERROR first\n2026-01-02 INFO second\n", "a b": "with spaces\n",
		"numbers": "3\n1\n2\n", "sub/deep/c.txt": "deep\n", "sub/d.go": "package sub\n", ".hidden": "hidden\n", "empty": "",
		"Makefile": "all:\n\ttouch PWNED\n$(shell touch PWNED)\n", "sums": "d41d8cd98f00b204e9800998ecf8427e  empty\n",
		// Texts that a program might interpret.
		"payload": "touch PWNED\n$(touch PWNED)\na[$(touch PWNED)]\n-exec touch PWNED ;\n-oPWNED\n--pre=./canary\n/dev/tcp/127.0.0.1/80\n",
		"index":   "a[$(touch PWNED)]\n", "name": "PWNED\n", "program": "touch\n", "path": "/dev/tcp/127.0.0.1/80\n",
		"opts":     "--plugin=./canary.so\n-o PWNED\n--output=PWNED\n--pre=./canary\n",
		"prog.awk": `BEGIN { system("touch PWNED"); print > "PWNED" }` + "\n", "prog.sed": "w PWNED\n1e touch PWNED\n",
		"prog.jq": `"touch PWNED" | input` + "\n", "names0": "a.txt\x00-oPWNED\x00", "magic": "0 string one one\n",
		"patch.diff":  "--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-one 1\n+uno 1\n",
		"vendor/m.go": "package vendor\n",
	}
}

// hostileNames are the files of one folder each: with all in one folder, every program would give up at the first.
func hostileNames() [][]string {
	return [][]string{
		{"-exec", "a", "touch", "PWNED2", ";"}, {"-ewPWNED", "-n", "a"}, {"--pre=.\\canary", "--pre", "a"}, {"-oPWNED", "a", "b"},
		{"--output=PWNED", "a"}, {"-delete", "a"}, {"-fprintPWNED", "-fprint", "a"}, {"-i", "s,one,two,w PWNED"},
		{"--compress-program=x", "-S1", "a"}, {"a[$(touch PWNED)]", "a"}, {"a\ntouch PWNED\nb", "a"}, {"$(touch PWNED)", "`touch PWNED`"},
		{"-vx=1", "-f", "prog", "a"}, {"@opts", "opts"}, {"+!touch PWNED", "+", "a"}, {"--to-command=x", "-tf", "a"},
		{"-x", "canary.sh"}, {"--textconv", "--ext-diff", "a"}, {"-s", "12:00", "--set=12:00"}, {"-I.", "-C.", "-k"}, {"a=1", "PATH=."},
		{"-Ix", "-P9", "touch"}, {"w PWNED", "1w PWNED", "e touch PWNED"}, {"BEGIN{print>\"PWNED\"}", "a"},
	}
}

// hostileConfiguration is read by programs automatically, in the workspace and at home.
func hostileConfiguration() map[string]string {
	return map[string]string{
		".ripgreprc":               "--pre=./canary\n",
		".gitattributes":           "* diff=evil filter=evil merge=evil\n*.md diff=outside\n",
		"rust-toolchain.toml":      "[toolchain]\npath = \".\"\n",
		"rust-toolchain":           "./canary\n",
		".cargo/config.toml":       "[build]\nrustc = \"./canary\"\n",
		"package.json":             `{"scripts": {"preinstall": "touch PWNED"}}`,
		".npmrc":                   "script-shell=./canary\n",
		".node-version":            "./canary\n",
		".bashrc":                  "touch PWNED\n",
		".bash_profile":            "touch PWNED\n",
		".profile":                 "touch PWNED\n",
		".env":                     "touch PWNED\n",
		".lesskey":                 "#env\nLESSOPEN=|touch PWNED\n",
		".lessfilter":              canary,
		".jq":                      "def evil: \"touch PWNED\";\n",
		".ackrc":                   "--pager=./canary\n",
		".bcrc":                    "1\n",
		".exrc":                    "!touch PWNED\n",
		".manpath":                 "DEFINE pager ./canary\n",
		".magic":                   "0 string one one\n",
		".config/bat/config":       "--pager=./canary\n",
		".config/cloc/options.txt": "--vcs=./canary\n",
		".curlrc":                  "output = PWNED\n",
		".wgetrc":                  "output_document = PWNED\n",
		".gdbinit":                 "shell touch PWNED\n",
		".envrc":                   "touch PWNED\n",
	}
}

// repository makes a repository with a little of everything.
func repository(dir string) error {
	var faults []error
	git := func(args ...string) string {
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=n", "-c", "user.email=e@e"}, args...)...)
		cmd.Env = append(os.Environ(), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			faults = append(faults, fmt.Errorf("git %v: %w: %s", args, err, out))
		}
		return strings.TrimSuffix(string(out), "\n")
	}
	write := func(name, content string) {
		faults = append(faults, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
	}
	faults = append(faults, os.MkdirAll(dir, 0o755))
	write("tracked.txt", "one\n")
	write("tracked.md", "one\n")
	write("tracked.inc", "one\n")
	write("tracked.work", "one\n")
	write("lost.txt", "of which git has the name alone\n")
	git("init", "-q", "-b", "main", "--template=")
	git("add", "-f", "tracked.txt", "tracked.md", "tracked.inc", "tracked.work", "lost.txt")
	if _, err := os.Stat(filepath.Join(dir, "module/.git")); err == nil {
		write(".gitmodules", "[submodule \"module\"]\n\tpath = module\n\turl = ./module\n\tignore = none\n")
		git("add", "-f", ".gitmodules", "module")
		git("submodule", "init")
		write("module/tracked.txt", "changed\n")
	}
	git("commit", "-qm", "first")
	write("tracked.txt", "two\n")
	git("commit", "-qam", "second\n\nmore")
	git("branch", "side")
	git("tag", "-a", "v1", "-m", "v1")
	git("notes", "add", "-m", "note")
	write("tracked.txt", "stashed\n")
	git("stash", "-q")
	for _, name := range []string{"tracked.txt", "tracked.md", "tracked.inc", "tracked.work"} {
		write(name, "three\n")
	}
	if lost := git("rev-parse", "HEAD:lost.txt"); len(lost) > 2 {
		faults = append(faults, os.Remove(filepath.Join(dir, ".git/objects", lost[:2], lost[2:])))
	}
	before, after, _ := strings.Cut(git("cat-file", "commit", "HEAD"), "\n\n")
	write("signed", before+"\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n abcd\n -----END PGP SIGNATURE-----\n\n"+after+"\n")
	git("update-ref", "HEAD", git("hash-object", "-t", "commit", "-w", "signed"))
	return errors.Join(faults...)
}

// hostile makes a repository's configuration run ./canary for everything, with a driver of that name for all its files.
func hostile(dir, driver string) error {
	var faults []error
	write := func(name, content string) {
		faults = append(faults, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
	}
	write(".gitattributes", strings.ReplaceAll("* diff=DRIVER filter=DRIVER merge=DRIVER\n*.md diff=DRIVER2\n"+
		"*.inc diff=DRIVER3 filter=DRIVER3\n*.work diff=DRIVER4 filter=DRIVER4\n", "DRIVER", driver))
	other := func(n string) string {
		return strings.NewReplacer("CANARY", dir+"/canary", "DRIVER", driver+n).Replace("[diff \"DRIVER\"]\n\ttextconv = CANARY\n" +
			"\tcommand = CANARY\n[filter \"DRIVER\"]\n\tclean = CANARY\n\tsmudge = CANARY\n\tprocess = CANARY\n")
	}
	write("included", other("3"))
	write(".git/config.worktree", other("4"))
	settings := `[core]
	fsmonitor = CANARY
	pager = CANARY
	editor = CANARY
	sshCommand = CANARY
	hooksPath = HOOKS
	alternateRefsCommand = CANARY
	gitProxy = CANARY
	askPass = CANARY
[diff]
	external = CANARY
[diff "DRIVER"]
	textconv = CANARY
	command = CANARY
[diff "DRIVER2"]
	textconv = CANARY
[filter "DRIVER"]
	clean = CANARY
	smudge = CANARY
	process = CANARY
[merge "DRIVER"]
	driver = CANARY
[alias]
	st = !CANARY
	lg = !CANARY
	l = log
	version-x = !CANARY
[gpg]
	program = CANARY
[log]
	showSignature = true
[pager]
	log = CANARY
	diff = CANARY
	branch = CANARY
	config = CANARY
[credential]
	helper = !CANARY
[sequence]
	editor = CANARY
[interactive]
	diffFilter = CANARY
[submodule]
	recurse = true
[trailer "x"]
	command = CANARY
	cmd = CANARY
[column]
	ui = always
[remote "origin"]
	url = ext::CANARY
	uploadpack = CANARY
	promisor = true
	partialclonefilter = blob:none
[extensions]
	partialClone = origin
	worktreeConfig = true
[include]
	path = ../included
[pretty]
	evil = %G? %GS
[format]
	pretty = evil
[gpg "ssh"]
	program = CANARY
	defaultKeyCommand = CANARY
[status]
	submoduleSummary = true
[uploadpack]
	packObjectsHook = CANARY
[man]
	viewer = evil
[man "evil"]
	cmd = CANARY
[help]
	autocorrect = immediate
[browser "evil"]
	cmd = CANARY
[gc]
	auto = 1
[maintenance]
	auto = true
`
	path := filepath.Join(dir, ".git/config")
	old, err := os.ReadFile(path)
	settings = strings.NewReplacer("CANARY", dir+"/canary", "HOOKS", dir+"/hooks", "DRIVER", driver).Replace(settings)
	settings = strings.Replace(string(old), "repositoryformatversion = 0", "repositoryformatversion = 1", 1) + settings
	faults = append(faults, err, os.WriteFile(path, []byte(settings), 0o644), os.MkdirAll(dir+"/hooks", 0o755))
	for _, name := range []string{"hooks/post-index-change", "hooks/pre-auto-gc", "hooks/fsmonitor-watchman", "canary", "git-evil"} {
		faults = append(faults, os.WriteFile(filepath.Join(dir, name), []byte(canary), 0o755))
	}
	return errors.Join(faults...)
}

// archives makes one archive of each kind that the machine can make.
func archives(dir string) error {
	_ = exec.Command("cp", "/bin/true", dir+"/a.out").Run()
	for _, command := range []string{"tar -cf f.tar a.txt b.txt", "tar -czf f.tgz a.txt", "gzip -kc a.txt > f.gz",
		"bzip2 -kc a.txt > f.bz2", "xz -kc a.txt > f.xz", "zstd -qc a.txt > f.zst", "python3 -m zipfile -c f.zip a.txt b.txt",
		"ar rc f.a a.out"} {
		cmd := exec.Command("/bin/sh", "-c", command)
		cmd.Dir = dir
		_ = cmd.Run() // without the program there is no archive of its kind
	}
	return nil
}
