package verbs

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

// ComparePlans is the input of ComparePlans, with names as planNamed takes them. To defaults to the current plan. If
// both are empty, the draft is compared with the current plan, or if that is over, with the draft shown before; without
// a draft, the current plan is compared with its previous version.
type ComparePlans struct {
	From string
	To   string
}

// Comparison lists the differences between two plans.
type Comparison struct {
	From  ComparedPlan `json:"from"`
	To    ComparedPlan `json:"to"`
	Plan  []PlanChange `json:"plan"`
	Steps []StepChange `json:"steps"`

	IsUnrelated bool `json:"unrelated,omitempty"` // the plans are not versions of one
}

// ComparedPlan identifies one of the compared plans.
type ComparedPlan struct {
	PlanID  string          `json:"plan_id"`
	Version int             `json:"version"`
	Status  plan.PlanStatus `json:"status"`
}

// Difference is the old and the new value of a field; null if empty.
type Difference struct {
	From any `json:"from"`
	To   any `json:"to"`

	Label   string   `json:"-"` // the field's name for people
	Was, Is []string `json:"-"` // in the form people read
}

// PlanChange is a field of a plan that differs.
type PlanChange struct {
	Field string `json:"field"`
	Difference
}

// StepChange is a step that differs. Fields holds the changed fields; the key place is its position among the steps
// that both plans have.
type StepChange struct {
	StepID plan.StepID           `json:"step_id"`
	Was    plan.StepID           `json:"was,omitzero"` // its former id, if that changed
	Title  string                `json:"title"`
	Change ChangeKind            `json:"change"`
	Fields map[string]Difference `json:"fields,omitempty"`
}

// ChangeKind is the kind of a step's change.
type ChangeKind string

// The changes of a step.
const (
	stepAdded   ChangeKind = "added"
	stepRemoved ChangeKind = "removed"
	stepChanged ChangeKind = "changed"
	stepMoved   ChangeKind = "moved"
)

// Values lists the kinds.
func (ChangeKind) Values() []string { return []string{"added", "removed", "changed", "moved"} }

// place is the key of a step's position in StepChange.Fields, status of its status.
const (
	place  = "place"
	status = "status"
)

// ComparePlans returns the differences between two plans.
func (s *Service) ComparePlans(ctx context.Context, c Caller, in ComparePlans) (Comparison, error) {
	state, former, err := s.Draft(ctx)
	switch {
	case err != nil:
		return Comparison{}, err
	case in.From == "" && former != nil && isOver(state.Plan):
		return Compare(former, state.Draft), nil
	case in.From == "":
		if in.From, in.To, err = s.defaultPlans(state, c); err != nil {
			return Comparison{}, err
		}
	}
	from, err := s.planNamed(ctx, state, in.From)
	if err != nil {
		return Comparison{}, err
	}
	to, err := s.planNamed(ctx, state, cmp.Or(in.To, "current"))
	if err != nil {
		return Comparison{}, err
	}
	compared := Compare(from, to)
	compared.IsUnrelated = from.Root() != to.Root()
	return compared, nil
}

func (s *Service) defaultPlans(state plan.State, c Caller) (from, to string, err error) {
	first := func(form WhichPlan, or string) error {
		return plan.Refuse(plan.NotFound, "", "this is the first version of the plan, so there is nothing to compare it with",
			"read it with `"+c.word(Call{Kind: CallRead, ID: string(form)})+"`"+or)
	}
	switch p := state.Plan; {
	case state.Draft != nil && isOver(p):
		return "", "", first(DraftPlan, "")
	case p == nil:
		return "", "", plan.Refuse(plan.NotFound, "", "no plan exists yet", "set one up first")
	case state.Draft != nil:
		return "current", "draft", nil
	}
	before := versionBefore(state, state.Plan)
	if before == "" {
		return "", "", first("", ", or name the plan to compare it with")
	}
	return before, "current", nil
}

// versionBefore returns the id of the version that p replaced; "" if p is the first.
func versionBefore(state plan.State, p *plan.Plan) (id string) {
	if slices.Contains(state.PlanIDs(), p.PreviousPlanID) {
		return p.PreviousPlanID
	}
	for head := range state.Versions(p.Root()) {
		if head.Version < p.Version {
			id = head.ID
		}
	}
	return id
}

// PreviousVersion returns the plan to compare p with, where people view a plan that is or was in force: the approved version if
// p was replanned since without approval, else the version before it; nil if there is neither.
func (s *Service) PreviousVersion(ctx context.Context, state plan.State, p *plan.Plan) (*plan.Plan, error) {
	before := versionBefore(state, p)
	if before == "" {
		return nil, nil
	}
	if approved, err := s.session.ApprovedVersion(ctx, p); err != nil || approved.ID != p.ID {
		return approved, err
	}
	return s.session.PlanBody(ctx, before)
}

var versionName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[vV]?([1-9][0-9]{0,8})$`) })

// IsVersion reports whether name is a version number, such as v2 or 2.
func IsVersion(name string) bool { return versionName().MatchString(name) }

// VersionID returns the id of a version of the current plan by its number, such as v2 or 2.
func VersionID(state plan.State, name string) (string, error) {
	parts := versionName().FindStringSubmatch(name)
	if parts == nil || state.Plan == nil {
		return "", plan.Refuse(plan.NotFound, "", "unknown version "+plan.Quote(name), listPlans)
	}
	n, _ := strconv.Atoi(parts[1]) // the pattern allows 9 digits
	if state.Plan.Version == n {
		return state.Plan.ID, nil
	}
	for head := range state.Versions(state.Plan.Root()) {
		if head.Version == n {
			return head.ID, nil
		}
	}
	return "", plan.Refuse(plan.NotFound, "", fmt.Sprintf("%s has no version %d", plan.Quote(state.Plan.Root()), n),
		listPlans)
}

// listPlans is the advice to a caller who names an unknown plan.
const listPlans = "list the plans"

// planNamed returns a plan by id, by version number of the current plan (2, v2), or as current, draft or approved: the
// current plan as it was at its approval.
func (s *Service) planNamed(ctx context.Context, state plan.State, name string) (*plan.Plan, error) {
	problem := ""
	switch p := state.Plan; {
	case name == "draft" && state.Draft == nil:
		problem = "no draft waits for a decision"
	case name == "draft":
		return state.Draft, nil
	case (name == "current" || name == "approved") && p == nil:
		problem = "no plan exists yet"
	case name == "approved" && p.Approval == nil:
		problem = "the plan " + plan.Quote(p.ID) + " was not approved"
	case name == "approved":
		return s.session.ApprovedVersion(ctx, p)
	case name == "current":
		return p, nil
	case IsVersion(name):
		id, err := VersionID(state, name)
		if err != nil {
			return nil, err
		}
		return s.session.PlanBody(ctx, id)
	default:
		return s.session.PlanBody(ctx, name)
	}
	return nil, plan.Refuse(plan.NotFound, "", problem, listPlans)
}

// Compare returns the differences between two plans.
func Compare(from, to *plan.Plan) Comparison {
	c := Comparison{From: ComparedPlan{from.ID, from.Version, from.Status}, To: ComparedPlan{to.ID, to.Version, to.Status},
		Plan: []PlanChange{}, Steps: []StepChange{}}
	for _, f := range plan.PlanFields() {
		if d, differs := difference(f, from, to); differs && f.Kind != plan.RecordField {
			c.Plan = append(c.Plan, PlanChange{f.Name, d})
		}
	}
	was := matchSteps(to, from)
	now, moved := formerIDs(was), movedSteps(from, to, was)
	for step := range to.Steps.All() {
		old, kept := was[step.ID]
		if !kept {
			c.Steps = append(c.Steps, stepChange(stepAdded, &plan.Step{}, step))
			continue
		}
		change := stepChange(stepChanged, renumbered(old, now), step)
		if old.ID != step.ID {
			change.Was = old.ID
		}
		if moved[step.ID] {
			if len(change.Fields) == 0 {
				change.Change = stepMoved
			}
			before, after := from.Steps.Position(old.ID)+1, to.Steps.Position(step.ID)+1
			change.Fields[place] = Difference{From: before, To: after}
		}
		if len(change.Fields) > 0 || change.Was != 0 {
			c.Steps = append(c.Steps, change)
		}
	}
	for old := range from.Steps.All() {
		if _, kept := now[old.ID]; !kept {
			change := stepChange(stepRemoved, old, &plan.Step{})
			change.StepID, change.Title = old.ID, old.Title
			c.Steps = append(c.Steps, change)
		}
	}
	return c
}

func stepChange(change ChangeKind, old, step *plan.Step) StepChange {
	c := StepChange{StepID: step.ID, Title: step.Title, Change: change, Fields: map[string]Difference{}}
	for _, f := range comparedFields() {
		if d, differs := difference(f, old, step); differs {
			c.Fields[f.Name] = d
		}
	}
	return c
}

// comparedFields returns the specification fields of a step, and status; its other results are not part of a version.
func comparedFields() []plan.Field[plan.Step] {
	return slices.DeleteFunc(slices.Clone(plan.StepFields()), func(f plan.Field[plan.Step]) bool {
		return f.Name != status && !slices.ContainsFunc(plan.SpecFields(), func(of plan.Field[plan.Step]) bool { return of.Name == f.Name })
	})
}

func difference[T any](f plan.Field[T], old, now *T) (Difference, bool) {
	d := Difference{From: value(f.Pointer(old)), To: value(f.Pointer(now)), Label: f.Label, Was: f.Texts(old), Is: f.Texts(now)}
	return d, !slices.Equal(d.Was, d.Is)
}

// value returns the value of the field that field points to, nil if it is empty.
func value(field any) any {
	v := reflect.ValueOf(field).Elem()
	if v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0 {
		return nil
	}
	return v.Interface()
}

// Text returns the differences as lines, the statuses last. A line of new or old text starts with + or -, after blanks
// or a bar.
func (c Comparison) Text() string {
	text, statuses := fmt.Sprintf("From %s\nto %s:\n", c.From.text(), c.To.text())+line(c.changes()), ""
	if len(c.Plan)+len(c.Steps) == 0 {
		text += "\nNothing differs.\n"
	}
	for _, change := range c.Steps {
		if d, differs := change.Fields[status]; differs && change.Change != stepAdded && change.Change != stepRemoved {
			statuses += fmt.Sprintf("%s %s: %s -> %s\n", change.StepID, change.Title, d.From, d.To)
		}
	}
	return strings.TrimSuffix(text+prefixed("\nStatuses:\n", statuses), "\n")
}

// changes returns the differences except statuses as lines, "" without any.
func (c Comparison) changes() string {
	var fields, steps strings.Builder
	for _, change := range c.Plan {
		fields.WriteString(change.text())
	}
	for _, change := range c.Steps {
		if change.structural() {
			steps.WriteString(change.text())
		}
	}
	text := prefixed("The plan:\n", fields.String())
	if text != "" && steps.Len() > 0 {
		text += "\n"
	}
	return text + prefixed("The steps:\n", steps.String())
}

func (p ComparedPlan) text() string {
	return fmt.Sprintf("%s (version %d, %s)", p.PlanID, p.Version, p.Status)
}

func (c StepChange) structural() bool {
	_, alone := c.Fields[status]
	return c.Change != stepChanged || !alone || len(c.Fields) > 1 || c.Was != 0
}

func (c StepChange) text() string {
	text := map[ChangeKind]string{stepAdded: "+ ", stepRemoved: "- "}[c.Change] + c.StepID.String() + " " + c.Title
	if c.Was != 0 {
		text += ", formerly " + c.Was.String()
	}
	if d, moved := c.Fields[place]; moved {
		text += fmt.Sprintf(", moved from place %d to %d", d.From, d.To)
	}
	text += "\n"
	for _, f := range comparedFields() {
		d, differs := c.Fields[f.Name]
		whole := c.Change == stepAdded || c.Change == stepRemoved
		if differs && f.Name != status && !(whole && f.Name == "title") {
			text += d.text()
		}
	}
	return text
}

// text returns a field's difference as lines; of long texts only the lines that differ.
func (d Difference) text() string {
	var b strings.Builder
	if len(d.Was) == 1 && len(d.Is) == 1 && strings.Contains(d.Was[0]+d.Is[0], "\n") {
		b.WriteString("  " + d.Label + ":\n")
		for line := range strings.Lines(diff(d.Was[0]+"\n", d.Is[0]+"\n")) {
			b.WriteString(safetext.Mark + line)
		}
		return b.String()
	}
	side := func(sign string, texts, others []string) {
		for _, text := range texts {
			if !slices.Contains(others, text) {
				b.WriteString("  " + sign + " " + d.Label + ": " + safetext.AfterLabel(text) + "\n")
			}
		}
	}
	side("-", d.Was, d.Is)
	side("+", d.Is, d.Was)
	if b.Len() == 0 {
		b.WriteString("  " + d.Label + ": in another order\n")
	}
	return b.String()
}

// PastReason returns the reason why a former plan is past.
func PastReason(s plan.State, head plan.PastPlan) string {
	switch head.Reason {
	case "restored_over":
		return "replaced by a restored one"
	case "replanned": // one above the highest version at that time
		last := head.Version
		for other := range s.Versions(head.Root()) {
			if other.Revision <= head.Revision {
				last = max(last, other.Version)
			}
		}
		return fmt.Sprintf("replaced by version %d", last+1)
	}
	return head.Reason
}

// EarlierDecision returns what was decided about a plan before it was restored, such as "rejected by ann on 23
// November: no, never"; "" for a plan that was not restored.
func EarlierDecision(state plan.State, p *plan.Plan) string {
	head, ok := state.EarlierPlan(p)
	if !ok {
		return ""
	}
	on := func(at time.Time) string {
		layout := "2 January"
		if at.Year() != state.UpdatedAt.Year() {
			layout += " 2006"
		}
		return " on " + at.Local().Format(layout)
	}
	past := PastReason(state, head) + on(head.ArchivedAt)
	d := head.Decided
	word := map[plan.Outcome]string{plan.Approved: "approved", plan.Rejected: "rejected", plan.Returned: "returned for changes",
		plan.CalledOff: "cancelled", plan.Expired: "not decided in time", plan.Ended: "ended"}[d.Outcome] // in a host, it is the reason
	if word == "" {
		return past
	}
	if d.By != string(plan.Planloop) {
		word += " by " + d.Way.Decider(d.By)
	}
	if word += on(d.At) + prefixed(": ", plan.Shorten(oneLine(d.Comment), earlierShown)); string(d.Outcome) != head.Reason {
		word += "; " + past
	}
	return word
}

// earlierShown is the maximum length of the comment of an earlier decision, in characters.
const earlierShown = 200

// PastStatus returns the final status of a former plan; if it did not end, the reason why it is past.
func PastStatus(s plan.State, head plan.PastPlan) string {
	switch head.Status {
	case plan.StatusCompleted, plan.StatusFailed, plan.StatusAbandoned:
		return string(head.Status)
	}
	return PastReason(s, head)
}

// matchSteps maps each step of a plan to the same step in a former form of it. A submission, and a version from
// elsewhere, renumbers its steps, so titles are matched first. The remaining steps have new titles: they are matched by their
// place between two others, and then by number.
func matchSteps(p, former *plan.Plan) map[plan.StepID]*plan.Step {
	was, taken := map[plan.StepID]*plan.Step{}, map[plan.StepID]bool{}
	pair := func(find func(step *plan.Step) *plan.Step) {
		for step := range p.Steps.All() {
			if was[step.ID] != nil {
				continue
			}
			if old := find(step); old != nil && !taken[old.ID] {
				was[step.ID], taken[old.ID] = old, true
			}
		}
	}
	byID := func(step *plan.Step) *plan.Step { old, _ := former.Steps.Get(step.ID); return old }
	if p.ID != former.ID {
		titled := map[string][]*plan.Step{}
		for old := range former.Steps.All() {
			titled[old.Title] = append(titled[old.Title], old)
		}
		pair(func(step *plan.Step) *plan.Step {
			if old := byID(step); old != nil && old.Title == step.Title {
				return old
			}
			return nil
		})
		pair(func(step *plan.Step) *plan.Step {
			free := slices.DeleteFunc(titled[step.Title], func(old *plan.Step) bool { return taken[old.ID] })
			if titled[step.Title] = free; len(free) == 0 {
				return nil
			}
			return free[0]
		})
		left := gaps(former.Steps, func(old *plan.Step) (plan.StepID, bool) { return old.ID, taken[old.ID] })
		for gap, steps := range gaps(p.Steps, func(step *plan.Step) (plan.StepID, bool) {
			old, matched := was[step.ID]
			return cmp.Or(old, &plan.Step{}).ID, matched
		}) {
			for i, old := range left[gap] {
				if len(left[gap]) == len(steps) {
					was[steps[i].ID], taken[old.ID] = old, true
				}
			}
		}
	}
	pair(byID)
	return was
}

// gaps returns the steps without a match by the former ids of the matched steps before and after them, 0 at an end.
func gaps(steps plan.Steps, matched func(*plan.Step) (plan.StepID, bool)) map[[2]plan.StepID][]*plan.Step {
	found, gap := map[[2]plan.StepID][]*plan.Step{}, []*plan.Step(nil)
	before := plan.StepID(0)
	for step := range steps.All() {
		id, is := matched(step)
		if !is {
			gap = append(gap, step)
			continue
		}
		found[[2]plan.StepID{before, id}] = gap
		before, gap = id, nil
	}
	found[[2]plan.StepID{before, 0}] = gap
	return found
}

// formerIDs maps the former id of each kept step to its current id.
func formerIDs(was map[plan.StepID]*plan.Step) map[plan.StepID]plan.StepID {
	now := map[plan.StepID]plan.StepID{}
	for id, old := range was {
		now[old.ID] = id
	}
	return now
}

// renumbered returns a copy of a former step with the current ids of the step and its dependencies.
func renumbered(old *plan.Step, now map[plan.StepID]plan.StepID) *plan.Step {
	step := *old
	step.ID, step.DependsOn = now[old.ID], slices.Clone(old.DependsOn)
	for i, id := range step.DependsOn {
		step.DependsOn[i] = cmp.Or(now[id], id)
	}
	return &step
}

// movedSteps returns the steps that moved among the steps that both plans have: all except the longest
// subsequence in the same order.
func movedSteps(from, to *plan.Plan, was map[plan.StepID]*plan.Step) map[plan.StepID]bool {
	var ids []plan.StepID
	var places []int
	for step := range to.Steps.All() {
		if old := was[step.ID]; old != nil {
			ids, places = append(ids, step.ID), append(places, from.Steps.Position(old.ID))
		}
	}
	var ends []int // index in ids of the last element of the best run of each length
	before := make([]int, len(ids))
	for i, at := range places {
		length, _ := slices.BinarySearchFunc(ends, at, func(end, at int) int { return cmp.Compare(places[end], at) })
		if before[i] = -1; length > 0 {
			before[i] = ends[length-1]
		}
		ends = append(ends, i)[:max(length+1, len(ends))]
		ends[length] = i
	}
	moved := map[plan.StepID]bool{}
	for _, id := range ids {
		moved[id] = true
	}
	if len(ends) > 0 {
		for i := ends[len(ends)-1]; i >= 0; i = before[i] {
			delete(moved, ids[i])
		}
	}
	return moved
}
