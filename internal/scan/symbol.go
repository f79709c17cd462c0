package scan

import (
	"hash/maphash"
	"path"
	"slices"
	"strings"
)

// symbol is a name that a file exports.
type symbol struct {
	name  string
	line  int
	lines int // how long its code is
}

// maxSymbols bounds what is kept of one file.
const maxSymbols = 200

// mentions are the identifiers that tests hold, by hash: the tests of a large
// tree hold more of them than there is room for.
type mentions struct {
	seed maphash.Seed
	set  map[uint64]struct{}
	// unknown says that some tests were not read, so that a missing name means nothing.
	unknown bool
}

// maxMentions bounds the memory that mentions take, to some 100 MB.
const maxMentions = 4 << 20

func newMentions(seed maphash.Seed) *mentions {
	return &mentions{seed: seed, set: map[uint64]struct{}{}}
}

// add notes every identifier in source, in comments and strings as well.
func (m *mentions) add(source []byte) {
	for i := 0; i < len(source); {
		if !wordByte(source[i]) && source[i] != '$' {
			i++
			continue
		}
		start := i
		for i < len(source) && (wordByte(source[i]) || source[i] == '$') {
			i++
		}
		m.set[maphash.Bytes(m.seed, source[start:i])] = struct{}{}
	}
	m.unknown = m.unknown || len(m.set) > maxMentions
}

// join takes over what other holds.
func (m *mentions) join(other *mentions) {
	if !m.unknown {
		for sum := range other.set {
			m.set[sum] = struct{}{}
		}
	}
	m.unknown = m.unknown || other.unknown || len(m.set) > maxMentions
}

func (m *mentions) has(name string) bool {
	_, ok := m.set[maphash.String(m.seed, name)]
	return ok
}

// unmentioned returns the symbols that no test names.
func (m *mentions) unmentioned(symbols []symbol) []symbol {
	return slices.DeleteFunc(symbols, func(s symbol) bool { return m.has(s.name) })
}

// isTest reports the files that hold tests, by their names and folders.
func isTest(name string, f family) bool {
	base := path.Base(name)
	switch f {
	case goFamily:
		return strings.HasSuffix(base, "_test.go")
	case pythonFamily:
		return inTestFolder(name) || strings.HasPrefix(base, "test_") || strings.HasSuffix(base, "_test.py") || base == "conftest.py"
	case scriptFamily:
		return inTestFolder(name) || strings.Contains(base, ".test.") || strings.Contains(base, ".spec.") || strings.Contains(base, ".cy.")
	}
	return false
}

func inTestFolder(name string) bool {
	for element := range strings.SplitSeq(path.Dir(name), "/") {
		switch element {
		case "test", "tests", "__tests__", "__mocks__", "e2e":
			return true
		}
	}
	return false
}

// exportsNothing reports files whose exports are for a tool to read.
func exportsNothing(name string, f family) bool {
	base := path.Base(name)
	switch f {
	case pythonFamily:
		return base == "setup.py" || base == "manage.py" || strings.HasSuffix(base, ".pyi")
	case scriptFamily:
		return strings.HasSuffix(base, ".d.ts") || strings.Contains(base, ".config.") || strings.Contains(base, ".stories.")
	}
	return false
}
