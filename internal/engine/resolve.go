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
	"github.com/planloop/planloop/plan"
)

// resolver resolves the references of steps. It is called while the log is locked, so slow work, matching the files of
// patterns, is done before.
type resolver struct {
	*Engine

	values map[string]json.RawMessage // from the store, by name
	held   int                        // size of values in bytes
	found  map[plan.StepID]files      // files matched by the patterns of loops
	wanted bool                       // a loop was needed that found has no files for

	mostStarts int    // of agents; 0: unlimited
	begun      int    // agents started so far
	spent      string // why no more agents are started; "" while they may be
}

// files are the matches of a pattern in an attempt.
type files struct {
	attempt plan.Attempt
	items   []json.RawMessage
	err     error
}

func newResolver(e *Engine, mostStarts int) *resolver {
	return &resolver{Engine: e, mostStarts: mostStarts, values: map[string]json.RawMessage{}, found: map[plan.StepID]files{}}
}

// resolve collects everything needed to start a step, or the reason why it cannot start; false if the files of the
// workspace must be searched first.
func (r *resolver) resolve(ctx context.Context, s plan.State, step *plan.Step) (job, bool) {
	j, err := job{}, error(nil)
	x := cmp.Or(step.Execution, &plan.Execution{})
	if step.When != "" && !x.ConditionTrue {
		if j.ConditionFalse, err = r.unmet(ctx, s, step); err != nil || j.ConditionFalse {
			return j.problem(err), true
		}
	}
	if step.Tool != "" {
		known := false
		if j.tool, known = r.tools.Lookup(step.Tool); !known {
			if strings.Contains(step.Tool, "__") {
				return j.problem(fmt.Errorf("%s: %s in %s; no server that answers has it: `planloop servers` tells how each does",
					"Unknown tool", step.Tool, step.ID)), true
			}
			names := strings.Join(r.tools.Names(), ", ")
			return j.problem(fmt.Errorf("%s: %s in %s; use one of %s", "Unknown tool", step.Tool, step.ID, names)), true
		}
		j.IsDestructive, j.Definition = j.tool.Destructive, j.tool.Definition()
		j.IsRepeatable = step.Idempotent || j.tool.ReadOnly || j.tool.Idempotent
		j.WritesFiles = !j.tool.ReadOnly || step.Verify != ""
	} else if j.Agent = r.agentFor(s, step); j.Agent != "" {
		j.IsRepeatable, j.WritesFiles = true, true // a restarted agent looks at what its predecessor left
	}
	if step.ForEach != "" && x.Loop == 0 {
		return r.loop(ctx, s, step, j)
	}
	return j.problem(r.arguments(ctx, s, step, x, &j)), true
}

func (j job) problem(err error) job {
	if err != nil {
		j.Problem = err.Error()
	}
	return j
}

// arguments resolves the arguments of a step.
func (r *resolver) arguments(ctx context.Context, s plan.State, step *plan.Step, x *plan.Execution, j *job) error {
	var err error
	if x.Approval != nil && len(x.Approval.Args) > 0 { // a person replaced the step's arguments; they are used unchanged
		j.args = x.Approval.Args
	} else if j.args, err = plan.ResolveArgs(step.Args, r.value(ctx, s.Plan), x.Item); err != nil {
		return invalid(step, err)
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
		return invalid(step, err)
	}
	if loop, ok := s.Plan.Steps.Get(x.Loop); ok && loop.Execution.Approval != nil {
		j.LoopDigest, err = r.list(ctx, s.Plan, loop, itemsOf(s.Plan, loop), j.Definition)
	}
	return err
}

func invalid(step *plan.Step, err error) error {
	return fmt.Errorf("%s %s in %s: %w", "Invalid args for", step.Tool, step.ID, err)
}

// loop resolves the entries of a loop.
func (r *resolver) loop(ctx context.Context, s plan.State, step *plan.Step, j job) (job, bool) {
	each, err := plan.ParseForEach(step.ForEach)
	switch {
	case err != nil:
	case each.Glob != "":
		found, known := r.found[step.ID]
		if !known || found.attempt != attemptOf(s, step) {
			r.wanted = true
			return j, false
		}
		j.Items, err = found.items, found.err
	case each.From.Text != "":
		var list json.RawMessage
		if list, err = r.value(ctx, s.Plan)(each.From.Step); err == nil {
			list, err = each.From.Select(list)
		}
		if err == nil {
			j.Items, err = plan.ParseItems(list)
		}
		if err != nil {
			err = fmt.Errorf("for_each %s: %w", each.From.Text, err)
		}
	default:
		j.Items = each.Items
	}
	if err == nil {
		if j.Args = step.Args; plan.UsesSteps(step.Args) && len(j.Items) > 0 { // with the values for the first entry
			j.Args, err = plan.ResolveArgs(step.Args, r.value(ctx, s.Plan), j.Items[0])
		}
	}
	if err == nil {
		j.LoopDigest, err = r.list(ctx, s.Plan, step, j.Items, j.Definition)
	}
	return j.problem(err), true
}

func attemptOf(s plan.State, step *plan.Step) plan.Attempt {
	return plan.Attempt{Plan: s.Plan.Root(), Step: step.ID, Attempt: step.Attempts}
}

// prepareLists finds the files for loops that may begin, while the log is not locked.
func (r *run) prepareLists(ctx context.Context, s plan.State) error {
	r.wanted = false
	for _, step := range r.candidates(s) {
		each, err := plan.ParseForEach(step.ForEach)
		attempt := attemptOf(s, step)
		if step.Loop() != 0 || err != nil || each.Glob == "" || r.found[step.ID].attempt == attempt {
			continue
		}
		found := files{attempt: attempt}
		var paths []string
		if r.opts.Files == nil {
			found.err = errors.New("there are no files here that a pattern could match")
		} else if paths, found.err = r.opts.Files(ctx, each.Glob, plan.MaxItems); ctx.Err() != nil {
			return nil // nothing more is started
		}
		for _, path := range paths {
			item, err := json.Marshal(path)
			found.items, found.err = append(found.items, item), errors.Join(found.err, err)
		}
		r.found[step.ID] = found
	}
	return nil
}

// listsMissing reports whether a loop could not begin because its files were not known.
func (r *run) listsMissing() bool { return r.wanted }

// list returns a digest of a loop's work: its arguments, the values they refer to, and its entries.
func (r *resolver) list(ctx context.Context, p *plan.Plan, loop *plan.Step, items []json.RawMessage, definition string) (string, error) {
	sum := sha256.New()
	part := func(data []byte) { _, _ = fmt.Fprintf(sum, "%d:%s,", len(data), data) }
	part([]byte(plan.StartDigest(loop, loop.Args, definition)))
	for _, ref := range plan.References(loop.Args) {
		if ref.Step == 0 {
			continue
		}
		value, err := r.value(ctx, p)(ref.Step)
		if err == nil {
			value, err = ref.Select(value)
		}
		if err != nil {
			return "", invalid(loop, fmt.Errorf("%s: %w", plan.Quote(ref.Text), err))
		}
		part(value)
	}
	for _, item := range items {
		part(item)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// itemsOf returns the entries of a loop that has begun.
func itemsOf(p *plan.Plan, loop *plan.Step) []json.RawMessage {
	var items []json.RawMessage
	for _, id := range loop.Execution.Instances {
		if instance, ok := p.Steps.Get(id); ok && instance.Execution != nil {
			items = append(items, instance.Execution.Item)
		}
	}
	return items
}

// value returns a function that returns the value of a step for references.
func (r *resolver) value(ctx context.Context, p *plan.Plan) func(plan.StepID) (json.RawMessage, error) {
	return func(id plan.StepID) (json.RawMessage, error) {
		return p.ValueOf(id, func(name string) (json.RawMessage, error) { return r.kept(ctx, name) })
	}
}

// mostHeld limits the values kept in memory, in bytes.
const mostHeld = 64 << 20

// kept reads a value from the store, through a cache.
func (r *resolver) kept(ctx context.Context, name string) (json.RawMessage, error) {
	if value, known := r.values[name]; known {
		return value, nil
	}
	value, err := r.session.Value(ctx, name)
	if err != nil {
		return nil, err
	}
	if r.held += len(value); r.held > mostHeld {
		clear(r.values)
		r.held = len(value)
	}
	r.values[name] = value
	return value, nil
}

// unmet reports whether the condition of a step is false. A loop's condition is evaluated once for all entries, unless
// it uses the entry.
func (r *resolver) unmet(ctx context.Context, s plan.State, step *plan.Step) (bool, error) {
	c, err := runnable.Compile(step.When)
	if err != nil {
		return false, err
	}
	var item json.RawMessage
	instance := step.Loop() != 0
	if instance {
		item = step.Execution.Item
	}
	if loop := step.ForEach != "" && !instance; loop && c.UsesItem() || instance && !c.UsesItem() {
		return false, nil
	}
	sources := map[plan.StepID]runnable.ConditionSource{}
	for _, id := range c.Steps() {
		from, ok := s.Plan.Steps.Get(id)
		if !ok {
			continue
		}
		value, err := r.value(ctx, s.Plan)(id)
		if err != nil && !errors.Is(err, plan.ErrNoValue) {
			return false, err
		}
		sources[id] = runnable.ConditionSource{Value: value, OK: from.Status == plan.Done, Status: from.Status, Output: from.Output}
	}
	holds, err := c.Holds(ctx, sources, item)
	return !holds, err
}
