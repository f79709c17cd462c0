// Package gates checks the steps to be added to a plan before they are accepted: whether each describes the work, its
// place and its proof, whether the files it names exist, and whether it fits into one commit.
//
//	report, err := gates.Check(ctx, candidate, gates.Options{Files: root.FS(), Level: level})
//	if !report.OK() { refuse(report.Details()) }
//
// Every check is a gate: a small value with a name, which is also its key in a configuration, and a function that finds
// the flaws of one task. A gate refuses, warns or is off; Check reports all findings at once, in the order of the
// tasks.
//
// The package must not know the source of the tasks, the storage of a plan, or the judge: it sees files only through an
// fs.FS, a judge through an interface, and never writes anything.
package gates

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/planloop/planloop/plan"
)

// Task is a step that is not yet part of a plan.
type Task struct {
	ID plan.StepID // its future id
	plan.Spec
	Unknown []string // dependencies, as given, that match no task
}

// Candidate is a proposed addition to a plan, or a whole plan.
type Candidate struct {
	Objective string
	Have      plan.Steps // the steps of the plan the tasks join; may be empty
	New       []Task
	Replaces  bool // the candidate is a whole plan, and replaces the open steps in Have
}

// Options configure a check. The zero value is usable: no files, no judge, the levels of Default.
type Options struct {
	// Files is the workspace, as os.Root.FS returns it: it must refuse to leave the workspace through links. Without it
	// the gates on paths are skipped.
	Files fs.FS
	// Commands reports whether a program of that name is installed; nil: every name counts as a command.
	Commands func(name string) bool
	// Level returns the level of a gate; nil means ByProfile(Default, …). It must be safe to call at any time and must
	// not change while Check runs.
	Level func(gate string) Level
	// Judge is asked if no other gate refuses the plan; nil: no judge.
	Judge        Judge
	JudgeTimeout time.Duration // 0 means two minutes
}

// Digest identifies the candidate: its objective and its new tasks with their future ids. Changes to existing steps do
// not affect it, as long as they leave the new ids alone.
func (c Candidate) Digest() string {
	type task struct {
		ID plan.StepID
		plan.Spec
		RawArgs string // separate, so that invalid JSON has a digest too
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
	// No part of form can fail to encode, and a hash accepts everything.
	_ = json.NewEncoder(hash).Encode(form)
	return hex.EncodeToString(hash.Sum(nil))
}

// isMeta reports whether a task is the one that asks for the plan: the first of a session. A title of that form alone
// is not enough.
func (c Candidate) isMeta(t Task) bool {
	return t.ID == 1 && t.Title == plan.MetaTitle(c.Objective)
}

// Check runs the gates on a candidate and reports all their findings. It only reads, looks at each path once, and fails
// only when ctx ends.
func Check(ctx context.Context, c Candidate, opts Options) (Report, error) {
	report := Report{Findings: []Finding{}, Digest: c.Digest()}
	e := &examination{Candidate: c, commands: opts.Commands, graph: newGraph(c)}
	e.cycles, e.twins = e.graph.cycles(c), twins(c)
	if opts.Files != nil {
		e.tree = &tree{files: opts.Files, seen: map[string]existence{}, left: maxEntries}
		e.made = newCreations(c, e.graph)
	}
	var active []gate
	for _, g := range all() {
		if g.level = opts.level(g.name); g.level != Off && g.check != nil {
			active = append(active, g)
		}
	}
	for i, t := range c.New {
		if err := ctx.Err(); err != nil {
			return Report{}, err
		}
		if c.isMeta(t) {
			continue // it asks for the plan that the gates check
		}
		for _, g := range active {
			if g.byHand && t.Tool != "" {
				continue
			}
			report.Findings = append(report.Findings, e.findings(ctx, g, i)...)
		}
	}
	if err := e.askJudge(ctx, opts, &report); err != nil {
		return Report{}, err
	}
	report.Score = score(c.New, report.Findings)
	return report, ctx.Err()
}

// examination is the state of one call of Check.
type examination struct {
	Candidate
	commands func(string) bool // see Options.Commands
	tree     *tree             // nil without files
	made     *creations
	cycles   map[int]string // by the first task of each
	twins    map[int]twin
	graph    graph
}

func (o Options) level(gate string) Level {
	if o.Level != nil {
		if level := o.Level(gate); slices.Contains(level.Values(), string(level)) {
			return level
		}
	}
	return ByProfile(Default, gate)
}

func (e *examination) findings(ctx context.Context, g gate, i int) []Finding {
	title := excerpt(strings.TrimSpace(e.New[i].Title), titleShown)
	task := "Task '" + title + "'"
	if title == "" {
		task = "Task " + strconv.Itoa(i+1)
	}
	var list []Finding
	for _, f := range g.check(ctx, e, i) {
		list = append(list, Finding{Gate: g.name, Level: g.level, Task: title, Step: e.New[i].ID, Index: i, Field: cmp.Or(g.field, g.name),
			Message: task + " " + f.message, Fix: f.fix, verbatim: f.verbatim, Says: f.message})
	}
	return list
}

const judgeGate = "judge"

// Judge gives an opinion on a candidate as a whole: whether the tasks are well cut and in a sensible order. It must
// return soon after its context ends. An error means that it has no opinion, which is never taken for approval.
type Judge interface {
	Judge(ctx context.Context, c Candidate, findings []Finding) (Verdict, error)
}

// Verdict is the opinion of a judge, in the form of planloop's contract (P-2).
type Verdict struct {
	Approved bool   `json:"is_approved"`
	Feedback string `json:"feedback,omitempty"` // requested changes, if not approved
}

const (
	defaultJudgeTimeout = 2 * time.Minute
	feedbackShown       = 2_000
)

// askJudge asks the judge, if no other gate refuses the candidate: an opinion on a plan that must change anyway would be
// about another plan. The candidate must have more tasks than the one that asks for a plan.
func (e *examination) askJudge(ctx context.Context, opts Options, report *Report) error {
	level := opts.level(judgeGate)
	if opts.Judge == nil || level == Off || !report.OK() || !slices.ContainsFunc(e.New, func(t Task) bool { return !e.isMeta(t) }) {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, cmp.Or(opts.JudgeTimeout, defaultJudgeTimeout))
	defer cancel()
	verdict, err := opts.Judge.Judge(limited, e.Candidate, slices.Clone(report.Findings))
	if ended := ctx.Err(); ended != nil {
		return ended
	}
	finding := Finding{Gate: judgeGate, Level: level}
	switch {
	case err != nil:
		report.JudgeErr = err
		finding.Message = "The judge did not answer, so the plan is not approved."
		if errors.Is(err, context.DeadlineExceeded) {
			finding.Message = "The judge did not answer in time, so the plan is not approved."
		}
		finding.Fix = "send the same plan again once the judge answers"
	case verdict.Approved:
		return nil
	case strings.TrimSpace(verdict.Feedback) == "":
		finding.Message = "The judge did not approve the plan and gave no reason."
		finding.Fix = "check that each task does one thing, and that the order is feasible"
	default:
		finding.Message = "The judge did not approve the plan: " +
			excerpt(strings.Join(strings.Fields(verdict.Feedback), " "), feedbackShown)
	}
	report.Findings = append(report.Findings, finding)
	return nil
}
