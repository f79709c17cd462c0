package scan

import (
	"context"
	"errors"
	"hash/maphash"
	"slices"
	"sync"
)

// maxKept bounds the different things that are kept, per kind.
const maxKept = 50_000

// collection gathers what the readers find. Its lock also keeps the calls of
// Progress apart.
type collection struct {
	options Options
	seed    maphash.Seed

	mu        sync.Mutex
	done      int
	read      int
	skipped   Skipped
	languages map[string]int
	kept      map[thing]*found
	crowded   map[string]int // things beyond maxKept, by kind
	sizes     map[string]int // things kept, by kind
	exports   map[string]export
	tests     map[family]*mentions
}

// thing tells findings that are the same from others. A link is the same within
// its document only, a mark without words within its file.
type thing struct{ kind, word, text, path string }

func newCollection(o Options) *collection {
	return &collection{
		options: o, seed: maphash.MakeSeed(),
		languages: map[string]int{}, kept: map[thing]*found{}, crowded: map[string]int{}, sizes: map[string]int{},
		exports: map[string]export{}, tests: map[family]*mentions{},
	}
}

// jobsOf counts the files of a folder and returns the reading there is to do.
func (c *collection) jobsOf(f folder) []job {
	c.mu.Lock()
	defer c.mu.Unlock()
	var source, other []string
	fixture := inFixture(f.path)
	for _, base := range f.files {
		name := join(f.path, base)
		if l := languageOf(name); l.name != "" {
			c.languages[l.name]++
		}
		switch {
		case fixture || !worthReading(name):
		case isGo(name):
			source = append(source, name)
		default:
			other = append(other, name)
		}
	}
	c.progress(len(f.files) - len(source) - len(other))
	var jobs []job
	if len(source) > 0 {
		jobs = append(jobs, job{files: source, isGo: true, seed: c.seed, partial: f.partial})
	}
	for files := range slices.Chunk(other, chunk) {
		jobs = append(jobs, job{files: files, seed: c.seed})
	}
	return jobs
}

func (c *collection) progress(files int) {
	if files > 0 {
		c.done += files
		c.options.Progress(c.done)
	}
}

// add takes what a job brought.
func (c *collection) add(y *yield) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read += y.read
	c.skipped = c.skipped.plus(y.skipped)
	for _, m := range y.marks {
		c.addMark(m.path, m.what)
	}
	for _, l := range y.links {
		key := thing{KindDeadLink, "", l.what.target, l.path}
		c.keep(key, place{l.path, l.what.line})
	}
	for _, f := range y.untested {
		c.kept[thing{kind: KindUntested, path: f.text}] = f
	}
	for name, e := range y.exports {
		c.exports[name] = e
	}
	for f, m := range y.tests {
		if c.tests[f] == nil {
			c.tests[f] = newMentions(c.seed)
		}
		c.tests[f].join(m)
	}
	c.progress(y.files)
}

func (c *collection) addMark(name string, m mark) {
	key := thing{KindMark, m.word, m.text, ""}
	if m.text == "" {
		key.path = name
	}
	c.keep(key, place{name, m.line})
}

func (c *collection) keep(key thing, at place) {
	f := c.kept[key]
	if f == nil {
		if c.sizes[key.kind] >= maxKept {
			c.crowded[key.kind]++
			return
		}
		c.sizes[key.kind]++
		f = &found{kind: key.kind, word: key.word, text: key.text}
		c.kept[key] = f
	}
	f.add(at)
}

// result judges what had to wait until all files were read, and ranks. Links are
// looked up here; when there is no time left for that, they are no findings.
func (c *collection) result(ctx context.Context, t *Tree, cut Bound) Result {
	if cut == Whole {
		c.judgeExports(t)
	}
	c.judgeLinks(ctx, t)
	switch {
	case errors.Is(context.Cause(ctx), errOutOfTime):
		cut = ByTime
	case ctx.Err() != nil:
		cut = Cancelled
	}
	findings := make([]Finding, 0, len(c.kept))
	for _, f := range c.kept {
		findings = append(findings, f.finding())
	}
	rank(findings)
	left := c.crowded[KindMark] + max(len(findings)-c.options.MaxFindings, 0)
	findings = findings[:min(len(findings), c.options.MaxFindings)]
	return Result{Findings: findings, Left: left, Read: c.read, Skipped: c.skipped, Languages: languages(c.languages), Cut: cut}
}

// judgeExports compares what modules export with what tests mention. Tests may
// stand anywhere: of a tree that was not read whole, nothing can be said.
func (c *collection) judgeExports(t *Tree) {
	for name, e := range c.exports {
		tests := c.tests[e.family]
		if tests == nil {
			tests = newMentions(c.seed)
		}
		if tests.unknown {
			continue
		}
		if symbols := tests.unmentioned(e.symbols); len(symbols) > 0 {
			c.kept[thing{kind: KindUntested, path: name}] = t.untested(name, e.family, symbols)
		}
	}
}

// judgeLinks keeps the links that lead nowhere.
func (c *collection) judgeLinks(ctx context.Context, t *Tree) {
	for key, f := range c.kept {
		if key.kind != KindDeadLink {
			continue
		}
		dead, outside := false, false
		if ctx.Err() == nil {
			dead, outside = t.dead(key.path, key.text)
		}
		f.outside = outside
		if !dead && !outside {
			delete(c.kept, key)
		}
	}
}
