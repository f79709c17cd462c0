package gates

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
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
		return "Task '" + printable(title, titleShown) + "'"
	}
	return "Task " + position(i)
}

// isMeta reports whether a task is the one that asks for the plan: the first of a
// session. A title of that form alone exempts nothing.
func (c Candidate) isMeta(t Task) bool {
	return t.ID == 1 && t.Title == plan.MetaTitle(c.Objective)
}
