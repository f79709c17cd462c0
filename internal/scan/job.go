package scan

import (
	"context"
	"hash/maphash"
	"path"
)

// job is a piece of reading for one goroutine: the Go files of a folder, which
// only together say what is tested, or some files of other kinds.
type job struct {
	files   []string
	seed    maphash.Seed
	isGo    bool
	partial bool // the folder holds files that are in no job
}

// chunk is how many files of other kinds than Go are read between two reports.
const chunk = 64

// maxTestFactor is how much larger than other files a test may be: what it
// mentions counts, and not to know that would accuse the code it tests.
const maxTestFactor = 16

// yield is what a job brought.
type yield struct {
	files    int // dealt with
	read     int
	skipped  Skipped
	marks    []located[mark]
	links    []located[link]
	untested []*found             // Go, judged already
	exports  map[string]export    // of other languages, to be judged when all tests are read
	tests    map[family]*mentions // of other languages
}

type located[T any] struct {
	path string
	what T
}

type export struct {
	family  family
	symbols []symbol
}

// reader reads files, one after the other, into the same buffer.
type reader struct {
	tree    *Tree
	options Options
	buffer  []byte
}

func (r *reader) read(ctx context.Context, j job) *yield {
	y := &yield{exports: map[string]export{}, tests: map[family]*mentions{}}
	var p *goPackage
	if j.isGo {
		p = newGoPackage()
		y.tests[goFamily] = newMentions(j.seed)
	}
	for _, name := range j.files {
		if ctx.Err() != nil {
			return y // what is tested cannot be told from a part
		}
		y.files++
		r.readFile(j, name, p, y)
	}
	if j.isGo {
		r.judge(j, p, y)
	}
	return y
}

func (r *reader) readFile(j job, name string, p *goPackage, y *yield) {
	l := languageOf(name)
	test := isTest(name, l.family)
	most := r.options.MaxBytes
	if test {
		most *= maxTestFactor
	}
	content, result := r.tree.read(name, most, r.buffer)
	r.buffer = content
	if y.skipped.count(result) {
		if test && result != wasBinary {
			y.testsOf(l.family, j.seed).unknown = true
		}
		return
	}
	y.read++
	if test {
		y.testsOf(l.family, j.seed).add(content)
	}
	if l.family == markdownFamily {
		content = prose(content)
		y.addLinks(name, content)
	} else if generated(content) || minified(content) {
		y.skipped.Made++
		return
	}
	y.addMarks(name, content, l.comments)
	switch {
	case test || exportsNothing(name, l.family):
	case l.family == goFamily:
		p.add(name, content)
	case l.family == pythonFamily:
		y.addExports(name, l.family, pythonSymbols(content))
	case l.family == scriptFamily:
		y.addExports(name, l.family, scriptSymbols(content))
	}
}

// judge tells which exports of the Go files of a folder are untested, if all its
// files are known.
func (r *reader) judge(j job, p *goPackage, y *yield) {
	tests := y.tests[goFamily]
	delete(y.tests, goFamily)
	if j.partial || tests.unknown {
		return
	}
	for name, symbols := range p.untested(tests) {
		y.untested = append(y.untested, r.tree.untested(name, goFamily, symbols))
	}
}

// untested makes a finding of symbols that no test names.
func (t *Tree) untested(name string, f family, symbols []symbol) *found {
	size := bySize(symbols)
	made := &found{kind: KindUntested, text: name, symbols: symbols, size: size}
	made.add(place{name, symbols[0].line})
	if beside := testFileOf(name, f); t.isFile(beside) {
		made.tests = beside
	}
	return made
}

func (y *yield) testsOf(f family, seed maphash.Seed) *mentions {
	if y.tests[f] == nil {
		y.tests[f] = newMentions(seed)
	}
	return y.tests[f]
}

func (y *yield) addMarks(name string, content []byte, s syntax) {
	for _, m := range marks(content, s) {
		y.marks = append(y.marks, located[mark]{name, m})
	}
}

func (y *yield) addLinks(name string, prose []byte) {
	for _, l := range links(prose) {
		y.links = append(y.links, located[link]{name, l})
	}
}

func (y *yield) addExports(name string, f family, symbols []symbol) {
	if len(symbols) > 0 {
		y.exports[name] = export{f, symbols}
	}
}

// count counts a file that was not read, and reports whether it was not.
func (s *Skipped) count(result outcome) bool {
	switch result {
	case wasLarge:
		s.Large++
	case wasBinary:
		s.Binary++
	case wasUnreadable:
		s.Unreadable++
	default:
		return false
	}
	return true
}

func (s Skipped) plus(other Skipped) Skipped {
	return Skipped{
		Ignored: s.Ignored + other.Ignored, Folders: s.Folders + other.Folders, Links: s.Links + other.Links,
		Special: s.Special + other.Special, Unreadable: s.Unreadable + other.Unreadable, Odd: s.Odd + other.Odd,
		Large: s.Large + other.Large, Binary: s.Binary + other.Binary, Made: s.Made + other.Made,
	}
}

// worthReading reports whether anything can be found in a file.
func worthReading(name string) bool { return languageOf(name).name != "" }

// isGo reports Go source, tests as well.
func isGo(name string) bool { return path.Ext(name) == ".go" }
