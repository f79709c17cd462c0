package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/planloop/planloop/internal/runnable"
	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/plan"
)

// job is the work of one attempt at a step.
type job struct {
	plan.Resolution
	tool    toolbox.Tool
	args    json.RawMessage
	step    *plan.Step
	before  plan.State // the state it was started in
	run     string
	attempt plan.Attempt
}

// resolve collects everything needed to start a step, or the reason why it cannot start; false if the files of the
// workspace must be searched first. It is called while the log is locked, so findFiles does that search before.
func (r *run) resolve(s plan.State, step *plan.Step) (j job, ok bool) {
	j = job{step: step, before: s}
	fail := func(err error) (job, bool) {
		if err != nil {
			j.Problem = err.Error()
		}
		return j, true
	}
	x := cmp.Or(step.Execution, &plan.Execution{})
	if step.When != "" && !x.ConditionTrue {
		unmet, err := r.isUnmet(s, step)
		if j.ConditionFalse = unmet; err != nil || unmet {
			return fail(err)
		}
	}
	if step.Tool != "" {
		known := false
		if j.tool, known = r.tools.Lookup(step.Tool); !known {
			j.Problem = fmt.Sprintf("Unknown tool: %s in %s; use one of %s", step.Tool, step.ID, strings.Join(r.tools.Names(), ", "))
			if strings.Contains(step.Tool, "__") { // of another server
				j.Problem = fmt.Sprintf("Unknown tool: %s in %s; no connected server has it, see `planloop servers`", step.Tool, step.ID)
			}
			return j, true
		}
		j.IsDestructive, j.Definition = j.tool.Destructive, j.tool.Definition()
		j.IsRepeatable = step.Idempotent || j.tool.IsRepeatable()
		j.WritesFiles = !j.tool.ReadOnly || step.Verify != ""
	} else if j.Agent = r.agentFor(s, step); j.Agent != "" {
		j.IsRepeatable, j.WritesFiles = true, true // a restarted agent looks at what its predecessor left
	}
	if step.ForEach != "" && x.Loop == 0 {
		err := r.resolveLoop(s, step, &j)
		if errors.Is(err, errFilesMissing) {
			r.filesMissing = true
			return j, false
		}
		return fail(err)
	}
	return fail(r.resolveArgs(s, step, x, &j))
}

func (r *run) resolveArgs(s plan.State, step *plan.Step, x *plan.Execution, j *job) error {
	var err error
	if x.Approval != nil && len(x.Approval.Args) > 0 { // a person replaced the step's arguments; they are used unchanged
		j.args = x.Approval.Args
	} else if j.args, err = plan.ResolveArgs(step.Args, r.valuesOf(s.Plan), x.Item); err != nil {
		return invalidArgs(step, err)
	}
	j.Args, j.Digest = j.args, plan.StartDigest(step, j.args, j.Definition)
	if step.Tool == "" {
		return nil
	}
	if len(j.args) == 0 {
		j.args = json.RawMessage("{}")
	}
	var faults plan.Faults
	for _, fault := range j.tool.Check(j.args) {
		faults.Add(fault)
	}
	if err := faults.Err(); err != nil {
		return invalidArgs(step, err)
	}
	if loop, ok := s.Plan.Steps.Get(x.Loop); ok && loop.Execution.Approval != nil {
		var items []json.RawMessage
		for _, id := range loop.Execution.Instances {
			if instance, ok := s.Plan.Steps.Get(id); ok && instance.Execution != nil {
				items = append(items, instance.Execution.Item)
			}
		}
		j.LoopDigest, err = r.loopDigest(s.Plan, loop, items, j.Definition)
	}
	return err
}

func invalidArgs(step *plan.Step, err error) error {
	return fmt.Errorf("%s %s in %s: %w", runnable.InvalidArgs, step.Tool, step.ID, err)
}

// errFilesMissing reports that findFiles must search the files of a loop first.
var errFilesMissing = errors.New("the files of the loop are not known yet")

// resolveLoop resolves the entries of a loop, and its arguments with the values for the first entry.
func (r *run) resolveLoop(s plan.State, step *plan.Step, j *job) (err error) {
	if j.Items, err = r.items(s, step); err != nil {
		return err
	}
	if j.Args = step.Args; plan.UsesSteps(step.Args) && len(j.Items) > 0 {
		if j.Args, err = plan.ResolveArgs(step.Args, r.valuesOf(s.Plan), j.Items[0]); err != nil {
			return err
		}
	}
	j.LoopDigest, err = r.loopDigest(s.Plan, step, j.Items, j.Definition)
	return err
}

// items returns the entries of a loop that has not begun.
func (r *run) items(s plan.State, step *plan.Step) (items []json.RawMessage, err error) {
	each, err := plan.ParseForEach(step.ForEach)
	switch {
	case err != nil:
		return nil, err
	case each.Glob != "":
		files := r.files[step.ID]
		if files.attempt != attemptOf(s, step) {
			return nil, errFilesMissing
		}
		return files.items, files.err
	case each.From.Text == "":
		return each.Items, nil
	}
	list, err := r.valuesOf(s.Plan)(each.From.Step)
	if err == nil {
		list, err = each.From.Select(list)
	}
	if err == nil {
		items, err = plan.ParseItems(list)
	}
	if err != nil {
		return nil, fmt.Errorf("for_each %s: %w", each.From.Text, err)
	}
	return items, nil
}

// fileList has the matches of a loop's pattern for an attempt.
type fileList struct {
	attempt plan.Attempt
	items   []json.RawMessage
	err     error
}

// findFiles finds the files for loops that may begin, while the log is not locked.
func (r *run) findFiles(ctx context.Context) {
	r.filesMissing = false
	for _, step := range r.candidates(r.state) {
		each, err := plan.ParseForEach(step.ForEach)
		found := fileList{attempt: attemptOf(r.state, step)}
		if step.Loop() != 0 || err != nil || each.Glob == "" || r.files[step.ID].attempt == found.attempt {
			continue
		}
		var paths []string
		if r.opts.Files == nil {
			found.err = errors.New("this workspace has no files for the pattern to match")
		} else if paths, found.err = r.opts.Files(ctx, each.Glob, plan.MaxItems); ctx.Err() != nil {
			return // nothing more is started
		}
		for _, path := range paths {
			item, err := json.Marshal(path)
			found.items, found.err = append(found.items, item), errors.Join(found.err, err)
		}
		r.files[step.ID] = found
	}
}

// loopDigest returns a digest of a loop's work: its arguments, the values they refer to, and its entries.
func (r *run) loopDigest(p *plan.Plan, loop *plan.Step, items []json.RawMessage, definition string) (string, error) {
	sum := sha256.New()
	add := func(data []byte) { _, _ = fmt.Fprintf(sum, "%d:%s,", len(data), data) }
	add([]byte(plan.StartDigest(loop, loop.Args, definition)))
	for _, ref := range plan.References(loop.Args) {
		if ref.Step == 0 {
			continue
		}
		value, err := r.valuesOf(p)(ref.Step)
		if err == nil {
			value, err = ref.Select(value)
		}
		if err != nil {
			return "", invalidArgs(loop, fmt.Errorf("%s: %w", plan.Quote(ref.Text), err))
		}
		add(value)
	}
	for _, item := range items {
		add(item)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// valuesOf returns a function that returns the value of a step for references.
func (r *run) valuesOf(p *plan.Plan) func(plan.StepID) (json.RawMessage, error) {
	return func(id plan.StepID) (json.RawMessage, error) { return p.ValueOf(id, r.storedValue) }
}

// maxValues limits the values kept in memory, in bytes.
const maxValues = 64 << 20

// storedValue reads a value from the store, through a cache.
func (r *run) storedValue(name string) (json.RawMessage, error) {
	if value, known := r.values[name]; known {
		return value, nil
	}
	value, err := r.session.Value(r.records, name)
	if err != nil {
		return nil, err
	}
	if r.valuesSize += len(value); r.valuesSize > maxValues {
		clear(r.values)
		r.valuesSize = len(value)
	}
	r.values[name] = value
	return value, nil
}

// isUnmet reports whether the condition of a step is false. A loop's condition is evaluated once for all entries, unless
// it uses the entry.
func (r *run) isUnmet(s plan.State, step *plan.Step) (bool, error) {
	c, err := runnable.Compile(step.When)
	if err != nil {
		return false, err
	}
	var item json.RawMessage
	if step.Loop() != 0 {
		if item = step.Execution.Item; !c.UsesItem() {
			return false, nil
		}
	} else if step.ForEach != "" && c.UsesItem() {
		return false, nil
	}
	sources := map[plan.StepID]runnable.ConditionSource{}
	for _, id := range c.Steps() {
		from, ok := s.Plan.Steps.Get(id)
		if !ok {
			continue
		}
		value, err := r.valuesOf(s.Plan)(id)
		if err != nil && !errors.Is(err, plan.ErrNoValue) {
			return false, err
		}
		sources[id] = runnable.ConditionSource{Value: value, OK: from.Status == plan.Done, Status: from.Status, Output: from.Output}
	}
	holds, err := c.Holds(r.records, sources, item)
	return !holds, err
}
