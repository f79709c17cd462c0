package scan

import (
	"context"
	"sync"

	"github.com/planloop/planloop/internal/tree"
)

// maxKept bounds the different things that are kept, per kind.
const maxKept = 50_000

// collection gathers what the readers find. Its lock also keeps the calls of
// Progress apart.
type collection struct {
	options Options

	mu      sync.Mutex
	done    int
	read    int
	kept    map[thing]*found
	crowded map[string]int // things beyond maxKept, by kind
	sizes   map[string]int // things kept, by kind
	sources []source
	tests   map[string]bool // what tests are about
}

// thing tells findings that are the same from others. A link is the same within
// its document only, a mark without words within its file.
type thing struct{ kind, word, text, path string }

func newCollection(o Options) *collection {
	return &collection{options: o, kept: map[thing]*found{}, crowded: map[string]int{}, sizes: map[string]int{}, tests: map[string]bool{}}
}

// add takes what some files brought.
func (c *collection) add(y *yield) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read += y.read
	for _, m := range y.marks {
		key := thing{KindMark, m.word, m.text, ""}
		if m.text == "" {
			key.path = m.path
		}
		c.keep(key, m.place)
	}
	for _, l := range y.links {
		c.keep(thing{KindDeadLink, "", l.target, l.path}, l.place)
	}
	c.sources = append(c.sources, y.sources...)
	for _, about := range y.tests {
		c.tests[about] = true
	}
	if y.files > 0 {
		c.done += y.files
		c.options.Progress(c.done)
	}
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

// result judges what had to wait until all files were read, and ranks. Of a tree
// that was not seen whole nothing is known of its tests. Links are looked up here;
// when there is no time left for that, they are no findings.
func (c *collection) result(ctx context.Context, t *tree.Tree, cut tree.Bound) Result {
	if ctx.Err() != nil {
		cut = tree.ByContext
	}
	for _, s := range c.sources {
		if cut == tree.Whole && !c.tests[s.about] {
			f := &found{kind: KindUntested, size: s.lines}
			f.add(place{s.name, 1})
			c.kept[thing{kind: KindUntested, path: s.name}] = f
		}
	}
	for key, f := range c.kept {
		if key.kind != KindDeadLink {
			continue
		}
		isDead := false
		if ctx.Err() == nil {
			isDead, f.outside = dead(t, key.path, key.text)
		}
		if !isDead && !f.outside {
			delete(c.kept, key)
		}
	}
	if ctx.Err() != nil {
		cut = tree.ByContext
	}
	findings := make([]Finding, 0, len(c.kept))
	for _, f := range c.kept {
		findings = append(findings, f.finding())
	}
	rank(findings)
	left := c.crowded[KindMark] + max(len(findings)-c.options.MaxFindings, 0)
	return Result{Findings: findings[:min(len(findings), c.options.MaxFindings)], Left: left, Read: c.read, Cut: cut}
}
