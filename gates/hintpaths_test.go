package gates

import (
	"io/fs"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/planloop/planloop/plan"
)

func TestHintPaths(t *testing.T) {
	for hint, want := range map[string][]string{
		"Read the 'Database Schema' section in `spec.md`.":       {"spec.md"},
		"Review `src/models/` and `src/api`.":                    {"src/models/", "src/api"},
		"See `a.go:12`, `b.go:12:5`, `c.go:1-9`, `d.go#L10-L20`": {"a.go", "b.go", "c.go", "d.go"},
		"See `README.md#usage`":                                  {"README.md"},
		"Match `src/**/*.go` or `{a,b}/x.ts`":                    {"src/**/*.go", "{a,b}/x.ts"},
		"``src/a`b.go`` is odd, ``src/c.go`` is not":             {"src/c.go"},
		"``` src/a.go ``` and `  src/b.go `":                     {"src/a.go", "src/b.go"},
		"these open nothing: ``src/a.go` and `src/b.go`":         nil,
		"nor do these: ``, `src/b.go`":                           {"src/b.go"},
		"Run `./gradlew` and `./scripts/test.sh`":                {"./gradlew", "./scripts/test.sh"},
		"Import from `../models/user`, see `../models/user.ts`":  {"../models/user.ts"},
		"Add it to `go.mod`, `Cargo.lock` and `.github/workflows/ci.yml`": {"go.mod", "Cargo.lock",
			".github/workflows/ci.yml"},
		"Not src/a.go but what is quoted":                                                    nil,
		"`GET /users`, `/login`, `/etc/hosts`, `POST /a/b.json`":                             nil,
		"`-v`, `--out=a/b`, `foo()`, `pkg.Foo()`, `a/b(c)`":                                  nil,
		"`https://example.com/a.md`, `mailto:a@b.md`, `//cdn/x.js`":                          nil,
		"`User.name`, `os.Root`, `fs.FS`, `mu.Lock`, `console.log`, `res.json`, `v1.2`":      nil,
		"`Node.js`, `Next.js`, `e.g.`, `1/2`, `TCP/IP`, `GET/POST`, `./...`":                 nil,
		"`text/html`, `application/json`, `@scope/name`, `user@host.md`":                     nil,
		"`users/{id}`, `users/:id`, `<path>/a.go`, `$HOME/a.go`, `~/.bashrc`, `%TEMP%/a.go`": nil,
		"`src\\models\\user.py`, `s/a/b/;`, `a|b/c`, `*`, `**/*`, `..`, `/`":                 nil,
		"`password_hash`, `Makefile`, `it`, ``":                                              nil,
	} {
		if diff := cmp.Diff(want, hintPaths([]string{hint})); diff != "" {
			t.Errorf("%s\n%s", hint, diff)
		}
	}
}

func TestDoubtful(t *testing.T) {
	for token, want := range map[string]bool{
		"net/http": true, "encoding/json": true, "origin/main": true, "feature/login": true, "github.com/owner/name": true,
		"docs.rs/serde/index.html": true, "s/x": true,
		"src/models": false, "src/models/": false, "net/http.go": false, "net/": false, "./gradlew": false, ".github/workflows": false,
		"docs/LICENSE": true,
	} {
		if doubtful(token) != want {
			t.Errorf("%q: doubtful %v", token, !want)
		}
	}
}

// A token taken for a path is in backquotes in the hint, has no spaces and no invisible characters; no input breaks the
// parser.
func FuzzHintPaths(f *testing.F) {
	for _, seed := range []string{"Read `spec.md`.", "``a`b``", "`", "``", "`a/b:12:3`", "`a#`", "`:1`", "`#L1`",
		"```go\nx/y.go\n```", "`\xff/a`", "`a/\x00`", "`../..`", "` `", "`a:1:2:3`", "`{,}/a`"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, hint string) {
		found := hintPaths([]string{hint})
		tokens := quoted(hint)
		for _, path := range found {
			if path == "" || strings.ContainsFunc(path, unicode.IsSpace) || strings.Contains(path, "`") {
				t.Errorf("%q is taken for a path", path)
			}
			if !slices.ContainsFunc(tokens, func(token string) bool { return strings.HasPrefix(token, path) }) {
				t.Errorf("%q does not stand in backquotes in %q", path, hint)
			}
			if bare := withoutLine(path); !strings.HasPrefix(path, bare) {
				t.Errorf("%q loses its beginning: %q", path, bare)
			}
			doubtful(path)
		}
		for _, token := range tokens {
			if !strings.Contains(hint, token) {
				t.Errorf("%q is not in %q", token, hint)
			}
		}
		if len(hintPaths([]string{hint, hint})) != len(found) {
			t.Error("a path is named twice")
		}
	})
}

// For any input, the result of locate is relative, clean and inside.
func FuzzLocate(f *testing.F) {
	for _, seed := range []string{"a/b.go", "./a", "a/../b", "..", "/a", "C:a", `\\a\b`, "~", "a/./b//c/", "\x00", "$A/b", "%A%/b",
		"a\u202eb", ". .", "a:b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, given string) {
		clean, fault := locate(given)
		if (clean == "") == (fault == "") {
			t.Fatalf("%q: %q, %q", given, clean, fault)
		}
		if fault != "" {
			return
		}
		if !fs.ValidPath(clean) || strings.ContainsAny(clean, "\\\x00") || strings.HasPrefix(clean, "~") ||
			plan.PathProblem(clean) != plan.PathOK {
			t.Fatalf("%q is located at %q", given, clean)
		}
		if again, fault := locate(clean); fault != "" || again != clean {
			t.Fatalf("%q is located at %q, then %q, %q", given, clean, again, fault)
		}
	})
}
