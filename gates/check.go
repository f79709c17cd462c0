// Package gates checks the steps somebody wants to add to a plan before they are
// accepted: whether each says what is to be done, where, and how one will know,
// whether what it names exists, and whether it fits into one commit.
//
//	report, err := gates.Check(ctx, candidate, gates.Options{Files: root.FS(), Level: level})
//	if !report.OK() { refuse(report.Details()) }
//
// Every check is a gate: a small value with a name, which is also its key in a
// configuration, and a function from one task to what is wrong with it. A gate
// refuses, warns or is off; Check reports everything at once, in the order of the
// tasks.
//
// The package must not know where the tasks come from, how a plan is stored, or
// who judges: files are seen through an fs.FS alone, a judge through an interface,
// and nothing is ever written.
package gates

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/planloop/planloop/plan"
)

// Task is a step that is not yet part of a plan.
type Task struct {
	ID plan.StepID // the id it will get
	plan.Spec
	Unknown []string // dependencies, as they were given, that name nothing
}

// Candidate is what somebody wants to add to a plan, or to make the plan.
type Candidate struct {
	Objective string
	Have      plan.Steps // the steps of the plan the tasks join; may be empty
	New       []Task
	Replaces  bool // the candidate is a whole plan: what is open in Have gives way to it
}

// Options says how a candidate is looked at. The zero value is usable: no files,
// no judge, the levels of Default.
type Options struct {
	// Files is the workspace, as os.Root.FS returns it: it must refuse to leave
	// the workspace through links. Without it the gates on paths are not asked.
	Files fs.FS
	// Level returns the level of a gate; nil means ByProfile(Default, …). It must
	// be safe to call at any time and return the same while Check runs.
	Level func(gate string) Level
	// Judge is asked when nothing else refuses the plan; nil: nobody is asked.
	Judge        Judge
	JudgeTimeout time.Duration // 0 means two minutes
}

// Digest identifies the candidate: what is to be added to which objective, with
// the ids it will get. What happens to the steps that are there already does not
// change it, as long as they leave the new ids alone.
func (c Candidate) Digest() string {
	type task struct {
		ID plan.StepID
		plan.Spec
		RawArgs string // apart: what is not valid JSON still has a digest
		Unknown []string
	}
	form := struct {
		Objective string
		Replaces  bool
		New       []task
	}{Objective: c.Objective, Replaces: c.Replaces}
	for _, t := range c.New {
		written := task{ID: t.ID, Spec: t.Spec, RawArgs: string(t.Args), Unknown: t.Unknown}
		written.Args = nil
		form.New = append(form.New, written)
	}
	hash := sha256.New()
	// Nothing in form can fail to be written, and a hash takes everything.
	_ = json.NewEncoder(hash).Encode(form)
	return hex.EncodeToString(hash.Sum(nil))
}

// label names the task at a position in messages.
func (c Candidate) label(i int) string {
	if title := strings.TrimSpace(c.New[i].Title); title != "" {
		return "Task '" + excerpt(title, titleShown) + "'"
	}
	return "Task " + strconv.Itoa(i+1)
}

// isMeta reports whether a task is the one that asks for the plan: the first of a
// session. A title of that form alone exempts nothing.
func (c Candidate) isMeta(t Task) bool {
	return t.ID == 1 && t.Title == plan.MetaTitle(c.Objective)
}

// Check asks the gates about a candidate and reports everything they find. It only
// reads, looks at each path once, and fails only when ctx ends.
func Check(ctx context.Context, c Candidate, opts Options) (Report, error) {
	report := Report{Findings: []Finding{}, Digest: c.Digest()}
	e := examine(c, opts)
	asked := e.asked(opts)
	for i, t := range c.New {
		if err := ctx.Err(); err != nil {
			return Report{}, err
		}
		if c.isMeta(t) {
			continue // it asks for the plan that the gates are there for
		}
		for _, g := range asked {
			if g.byHand && t.Tool != "" {
				continue
			}
			report.Findings = append(report.Findings, e.findings(ctx, g, i)...)
		}
	}
	if err := e.consult(ctx, opts, &report); err != nil {
		return Report{}, err
	}
	report.Score = score(c.New, report.Findings)
	return report, ctx.Err()
}

// examination is what is known of a candidate while it is checked. It belongs to
// one call of Check.
type examination struct {
	Candidate
	tree   *tree // nil without files
	made   *creations
	cycles map[int]string // by the first task of each
	twins  map[int]twin
	graph  graph
}

func examine(c Candidate, opts Options) *examination {
	e := &examination{Candidate: c, graph: newGraph(c)}
	e.cycles, e.twins = e.graph.cycles(c), twins(c)
	if opts.Files != nil {
		e.tree = &tree{files: opts.Files, seen: map[string]existence{}, left: maxEntries}
		e.made = newCreations(c, e.graph)
	}
	return e
}

// leveled is a gate that is asked, with its level.
type leveled struct {
	gate
	level Level
}

// asked lists the gates that look at single tasks and are not off.
func (e *examination) asked(opts Options) []leveled {
	var list []leveled
	for _, g := range all() {
		if level := opts.level(g.name); level != Off && g.check != nil {
			list = append(list, leveled{g, level})
		}
	}
	return list
}

func (o Options) level(gate string) Level {
	if o.Level != nil {
		if level := o.Level(gate); slices.Contains(level.Values(), string(level)) {
			return level
		}
	}
	return ByProfile(Default, gate)
}

func (e *examination) findings(ctx context.Context, g leveled, i int) []Finding {
	var list []Finding
	for _, f := range g.check(ctx, e, i) {
		list = append(list, Finding{
			Gate: g.name, Level: g.level,
			Task: excerpt(strings.TrimSpace(e.New[i].Title), titleShown), Step: e.New[i].ID,
			Index: i, Field: cmp.Or(g.field, g.name), Message: e.label(i) + " " + f.message, Fix: f.fix, verbatim: f.verbatim,
			Says: f.message,
		})
	}
	return list
}
