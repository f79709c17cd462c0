package scan

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// subject says by the conventions of its language what a file is about, so that a
// file and its tests are about the same, and whether it holds tests. It is empty
// for other languages, and for files that have no tests by custom.
//
// In Go the tests of a package stand in its folder. In Python and TypeScript the
// name of a file is in that of its tests, which stand beside it or in a folder of
// their own.
func subject(name string) (about string, isTest bool) {
	base := path.Base(name)
	stem := strings.TrimSuffix(base, path.Ext(base))
	apart := lies(name, "test", "tests", "__tests__", "__mocks__", "e2e")
	switch path.Ext(base) {
	case ".go":
		return "go " + path.Dir(name), strings.HasSuffix(stem, "_test")
	case ".py":
		bare := strings.TrimSuffix(strings.TrimPrefix(stem, "test_"), "_test")
		switch base {
		case "setup.py", "manage.py", "conftest.py", "__init__.py", "__main__.py":
			return "", false
		}
		return "py " + bare, apart || bare != stem
	case ".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs":
		bare, kind, _ := strings.Cut(stem, ".")
		switch kind {
		case "d", "config", "stories":
			return "", false
		case "test", "spec", "cy":
			return "ts " + bare, true
		}
		return "ts " + stem, apart
	}
	return "", false
}

// lies reports whether a path lies in a folder of one of the names.
func lies(name string, folders ...string) bool {
	return slices.ContainsFunc(strings.Split(path.Dir(name), "/"), func(element string) bool { return slices.Contains(folders, element) })
}

// offers are, by the endings of files, the lines that offer others something that
// runs. They are compiled when a scan asks for them, not at every start.
var offers = sync.OnceValue(func() map[string]*regexp.Regexp {
	return map[string]*regexp.Regexp{
		".go": regexp.MustCompile(`(?m)^func (?:\([^)\n]*\) )?[A-Z]`),
		".py": regexp.MustCompile(`(?m)^(?:async )?(?:def|class) [A-Za-z]`),
		"":    regexp.MustCompile(`(?m)^export (?:default )?(?:declare )?(?:abstract )?(?:async )?(?:function|class|const)\b`),
	}
})

// testable reports whether a file offers others something that runs.
func testable(name string, content []byte) bool {
	form, ok := offers()[path.Ext(name)]
	if !ok {
		form = offers()[""]
	}
	return form.Match(content)
}
