package exchange

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/strict"
	"github.com/planloop/planloop/plan"
)

// executionPlan is a plan in the format of the execution specification (Plan Structure).
type executionPlan struct {
	ID                string          `json:"id,omitzero"`
	TaskID            string          `json:"taskId,omitzero"`
	Version           int64           `json:"version,omitzero"` // counts changes: our revision
	Steps             []executionStep `json:"steps"`
	EstimatedDuration int             `json:"estimatedDuration,omitzero"` // seconds
	CreatedAt         time.Time       `json:"createdAt,omitzero"`

	// Further fields that plan_with_tools requests.
	Summary     string   `json:"summary,omitzero"`
	Reasoning   string   `json:"reasoning,omitzero"`
	Constraints []string `json:"constraints,omitzero"`

	Rest jsontext.Value `json:",embed"`
}

type executionStep struct {
	ID          string           `json:"id,omitzero"`
	Order       *float64         `json:"order,omitzero"`
	Description string           `json:"description,omitzero"`
	Tool        string           `json:"tool,omitzero"`
	Args        jsontext.Value   `json:"args,omitzero"`
	DependsOn   []string         `json:"dependsOn"`
	Critical    bool             `json:"critical,omitzero"` // Strategy 1: Skip and Continue
	Status      executionState   `json:"status,omitzero"`
	Result      *executionResult `json:"result,omitzero"`

	// Further fields that plan_with_tools offers.
	RequiresApproval bool           `json:"requires_approval,omitzero"`
	Idempotent       bool           `json:"idempotent,omitzero"`
	Always           bool           `json:"always,omitzero"`
	Timeout          int            `json:"timeout,omitzero"` // seconds
	Pause            string         `json:"pause,omitzero"`
	When             string         `json:"when,omitzero"`
	ForEach          jsontext.Value `json:"for_each,omitzero"` // a string or a list
	Retry            jsontext.Value `json:"retry,omitzero"`
	Cwd              string         `json:"cwd,omitzero"`
	Lock             string         `json:"lock,omitzero"`
	OutputFile       string         `json:"output_file,omitzero"`

	Rest jsontext.Value `json:",embed"`
}

type executionResult struct {
	OK        bool           `json:"ok"`
	Value     jsontext.Value `json:"value,omitzero"`
	Error     string         `json:"error,omitzero"`
	Duration  float64        `json:"duration"` // milliseconds
	Timestamp time.Time      `json:"timestamp,omitzero"`
	Rest      jsontext.Value `json:",embed"`
}

type executionState string

// Values lists the statuses of a step in the execution specification.
func (executionState) Values() []string { return plan.ExecutionWords.Words() }

func executionJSON(s plan.State) ([]byte, error) {
	p := s.Plan
	e := executionPlan{ID: p.ID, TaskID: p.Root(), Version: int64(s.Revision), EstimatedDuration: p.EstimatedDuration,
		CreatedAt: p.CreatedAt, Steps: []executionStep{},
		Summary: p.Summary, Reasoning: p.Reasoning, Constraints: p.Metadata.Constraints}
	for step := range p.Steps.All() {
		if step.Loop() != 0 { // follows from the loop
			continue
		}
		order := float64(len(e.Steps) + 1)
		to := executionStep{ID: step.ID.String(), Order: &order, Description: step.Title, Tool: step.Tool, Args: jsontext.Value(step.Args),
			DependsOn: []string{},
			Critical:  step.Critical, Status: executionState(p.ExecutionStatus(step)), Result: toExecutionResult(step),
			RequiresApproval: step.RequiresApproval, Idempotent: step.Idempotent, Timeout: step.Timeout, Pause: step.Pause, When: step.When,
			Always: step.Always, ForEach: listAsJSON(step.ForEach), Retry: jsontext.Value(step.Retry), Cwd: step.Cwd, Lock: step.Lock,
			OutputFile: step.OutputFile}
		for _, dep := range step.DependsOn {
			to.DependsOn = append(to.DependsOn, dep.String())
		}
		e.Steps = append(e.Steps, to)
	}
	data, err := json.Marshal(e)
	return append(data, '\n'), err
}

// listAsJSON returns a loop's list as JSON: an array, or a string with a reference.
func listAsJSON(list string) jsontext.Value {
	switch {
	case list == "":
		return nil
	case strings.HasPrefix(list, "[") && jsontext.Value(list).IsValid():
		return jsontext.Value(list)
	}
	text, _ := json.Marshal(list) // cleaned text always encodes
	return text
}

// toExecutionResult returns the outcome of a step: its tool's result, or the agent's report.
func toExecutionResult(step *plan.Step) *executionResult {
	if r := step.Result; r != nil {
		return &executionResult{OK: r.OK, Value: jsontext.Value(r.Value), Error: r.Error, Duration: float64(r.Duration),
			Timestamp: r.Timestamp}
	}
	if step.Status != plan.Done && step.Status != plan.Failed || step.CompletedAt.IsZero() && step.Output == "" && step.Error == "" {
		return nil
	}
	r := executionResult{OK: step.Status == plan.Done, Error: step.Error, Timestamp: step.CompletedAt}
	if step.Output != "" {
		r.Value, _ = json.Marshal(step.Output) // cleaned text always encodes
	}
	if !step.StartedAt.IsZero() && step.CompletedAt.After(step.StartedAt) {
		r.Duration = float64(step.CompletedAt.Sub(step.StartedAt).Milliseconds())
	}
	return &r
}

// executionLosses returns a sentence for each part of p that the format cannot express.
func executionLosses(p *plan.Plan) []string {
	var notes []string
	if p.Status != plan.StatusActive && p.Status != plan.StatusCompleted {
		notes = append(notes, "The plan "+p.Status.Predicate()+", which the format execution does not say.")
	}
	byAgents, entries := 0, 0
	for step := range p.Steps.All() {
		if step.Loop() != 0 {
			entries++
		} else if step.Tool == "" {
			byAgents++
		}
	}
	notes = countLoss(notes, byAgents, "step", "without a tool: that format has no agents")
	notes = countLoss(notes, entries, "entry", "of loops, which are written as the loop alone")
	notes = countLoss(notes, p.Steps.Count(plan.Cancelled), "cancelled step", "becomes skipped there")
	return append(notes, losses("The format execution cannot hold", p,
		func(f plan.Field[plan.Plan]) bool {
			return slices.Contains([]string{"estimated_duration", "summary", "reasoning", "metadata/constraints"}, f.Name)
		}, keptInExecution)...)
}

// keptInExecution reports whether the format keeps a field of a step.
func keptInExecution(f plan.Field[plan.Step], step *plan.Step) bool {
	switch f.Name {
	case "title", "tool", "args", "depends_on", "critical", "status", "result", "requires_approval", "idempotent", "always",
		"timeout", "pause", "when", "for_each", "retry", "cwd", "lock", "output_file":
		return true
	case "started_at", "completed_at":
		return toExecutionResult(step) != nil
	case "output", "error":
		r := toExecutionResult(step)
		return r != nil && (step.Result == nil || f.Name == "error" && r.Error == step.Error)
	}
	return false
}

// parseExecution reads a plan of the execution specification: a whole plan, or only the steps that a model
// returned (LLM Prompt). Comments are allowed, because the specification's examples have them.
func parseExecution(text []byte) (*source, error) {
	text = withoutComments(text)
	if pointer, problem := plan.CheckJSON(text, strict.MaxNesting); problem != "" {
		return nil, refuse(pointer, problem, "give one JSON object")
	}
	if membersOf(text) == nil {
		return nil, refuse("", "the text holds no plan", `give an object with "steps"`)
	}
	var e executionPlan
	if err := json.Unmarshal(text, &e, scalarsAsText()); err != nil {
		return nil, decodeError(err)
	}
	s := &source{
		outline: plan.Outline{EstimatedDuration: e.EstimatedDuration, Summary: e.Summary, Reasoning: e.Reasoning,
			Metadata: plan.Metadata{Constraints: e.Constraints}}, foldLines: true, circle: "Plan contains circular dependencies",
		names: map[string]string{"title": "description", "depends_on": "dependsOn", "step_id": "id", "created_at": "createdAt",
			"estimated_duration": "estimatedDuration", "metadata/constraints": "constraints"},
	}
	s.keepOrigin(plan.Import{ID: e.ID, Version: e.planVersion(), CreatedAt: e.CreatedAt})
	if !slices.ContainsFunc(e.Steps, func(step executionStep) bool { return step.Order == nil }) {
		slices.SortStableFunc(e.Steps, func(a, b executionStep) int { return cmp.Compare(*a.Order, *b.Order) })
	}
	names, err := e.stepNames()
	var faults plan.Faults
	faults.Add(err)
	for i := range e.Steps {
		step, err := e.Steps[i].source(fmt.Sprintf("/steps/%d", i), names.places[i], names)
		faults.Add(err)
		s.steps = append(s.steps, step)
	}
	faults.Add(e.unknown(s))
	if err := faults.Err(); err != nil {
		return nil, err
	}
	s.call, s.find = names.call, names.refer
	e.unblock(s)
	return s, nil
}

// planVersion reads the plan's version from its id; the id of the first version has no suffix.
func (e *executionPlan) planVersion() int {
	suffix, of := strings.CutPrefix(e.ID, e.TaskID+"-v")
	n, err := strconv.Atoi(suffix)
	if !of || e.TaskID == "" || err != nil || n < 2 || strconv.Itoa(n) != suffix {
		return 1
	}
	return n
}

// unblock sets a step from blocked to pending if it still waits for a dependency.
func (e *executionPlan) unblock(s *source) {
	status := map[plan.StepID]plan.StepStatus{}
	for _, step := range s.steps {
		status[step.ID] = step.Status
	}
	isUnfinished := func(id plan.StepID) bool { return status[id] != plan.Done }
	for i, step := range s.steps {
		if step.Status == plan.Blocked && slices.ContainsFunc(step.DependsOn, isUnfinished) {
			s.steps[i].Status = plan.Pending
		}
	}
}

// unknown refuses unknown fields that look misspelled, and all those of steps. A note names the others.
func (e *executionPlan) unknown(s *source) error {
	var faults plan.Faults
	left := map[string]bool{}
	look := func(at, prefix string, rest jsontext.Value, known ...string) {
		for name := range membersOf(rest) {
			refused := func(fix string) {
				faults.Add(refuse(shortPointer(at+"/"+name), "the field "+plan.Quote(name)+" is not known", fix))
			}
			switch near := safetext.Nearest(name, known); {
			case near != "":
				refused("did you mean " + near + "?")
			case prefix == "steps[].": // it may be a guard, and dropping one changes the step
				refused("leave it out, or say it by one of " + strings.Join(known, ", "))
			default:
				left[plan.Shorten(prefix+name, 60)] = true
			}
		}
	}
	look("", "", e.Rest, "id", "taskId", "version", "steps", "estimatedDuration", "createdAt", "summary", "reasoning", "constraints")
	for i, step := range e.Steps {
		at := fmt.Sprintf("/steps/%d", i)
		look(at, "steps[].", step.Rest, "order", "description", "tool", "args", "dependsOn", "critical", "status", "result",
			"requires_approval", "idempotent", "always", "timeout", "pause", "when", "for_each", "retry", "cwd", "lock", "output_file")
		if step.Result != nil {
			look(at+"/result", "steps[].result.", step.Result.Rest, "value", "error", "duration", "timestamp")
		}
	}
	s.noteUnknown(left)
	return faults.Err()
}

// stepNames maps the names of steps in the source to our ids.
type stepNames struct {
	ids     map[string]plan.StepID // by the exact name
	texts   map[plan.StepID]string
	numbers map[plan.StepID]plan.StepID // by the number in the name
	places  []plan.StepID               // by position
}

func (e *executionPlan) stepNames() (stepNames, error) {
	n := stepNames{ids: map[string]plan.StepID{}, texts: map[plan.StepID]string{}, numbers: map[plan.StepID]plan.StepID{}}
	isForeign := slices.ContainsFunc(e.Steps, func(step executionStep) bool { // so all steps are numbered by position
		id, err := plan.ParseStepID(step.ID)
		return err != nil || id > plan.MaxKeptID
	})
	var faults plan.Faults
	for i, step := range e.Steps {
		number, _ := plan.ParseStepID(step.ID)
		id := number
		if isForeign {
			id = plan.StepID(i + 1)
		}
		name := cmp.Or(step.ID, fmt.Sprintf("step_%d", i+1))
		if _, taken := n.ids[name]; taken {
			faults.Add(refuse(fmt.Sprintf("/steps/%d/id", i), plan.Quote(name)+" appears twice", "give each step an id of its own"))
		}
		n.ids[name], n.texts[id], n.numbers[number], n.places = id, name, id, append(n.places, id)
	}
	return n, faults.Err()
}

// find returns the step with a name, however its number is written.
func (n stepNames) find(name string) (plan.StepID, bool) {
	if id, ok := n.ids[name]; ok {
		return id, true
	}
	number, err := plan.ParseStepID(name)
	id, ok := n.numbers[number]
	return id, err == nil && ok
}

// refer is find for references. A bare number is a reference only if it is the name of a step.
func (n stepNames) refer(name string) (plan.StepID, bool) {
	if _, written := plan.ParseReference("$" + name); !written && n.ids[name] == 0 {
		return 0, false
	}
	return n.find(name)
}

func (n stepNames) call(id plan.StepID) string { return plan.Shorten(n.texts[id], 60) }

func (step *executionStep) source(at string, id plan.StepID, names stepNames) (sourceStep, error) {
	var faults plan.Faults
	faults.Add(plan.OneOf(at+"/status", step.Status))
	args := []byte(step.Args)
	if step.Args.Kind() == jsontext.KindNull {
		args = nil
	}
	to := sourceStep{Step: plan.Step{ID: id,
		Spec: plan.Spec{Title: cmp.Or(step.Description, named(step.Tool, step.Args)), Tool: step.Tool, Args: args,
			Critical: step.Critical, RequiresApproval: step.RequiresApproval, Idempotent: step.Idempotent, Timeout: step.Timeout,
			Always: step.Always, Pause: step.Pause, When: step.When, ForEach: listOrText(step.ForEach),
			Retry: []byte(step.Retry), Cwd: step.Cwd,
			Lock: step.Lock, OutputFile: step.OutputFile},
		Progress: plan.Progress{Status: plan.ExecutionWords.Status(string(step.Status))},
	}}
	for k, name := range step.DependsOn {
		dep, ok := names.find(name)
		if !ok {
			faults.Add(&plan.ValidationError{Kind: plan.NotFound, Field: fmt.Sprintf("%s/dependsOn/%d", at, k),
				Problem: "Unknown dependency: " + plan.Shorten(name, 60), Fix: "name a step of the plan", IsProblemFirst: true})
		}
		to.DependsOn = append(to.DependsOn, dep)
	}
	step.Result.onto(&to.Step)
	return to, faults.Err()
}

// listOrText returns a loop's list: the content of a string, or the JSON of a list.
func listOrText(value jsontext.Value) string {
	var text string
	if value == nil || json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

// onto records the outcome in a step: as the report of a step without a tool, else as its result.
func (r *executionResult) onto(step *plan.Step) {
	if r == nil {
		return
	}
	if step.CompletedAt = r.Timestamp; !r.Timestamp.IsZero() && r.Duration > 0 {
		step.StartedAt = r.Timestamp.Add(-time.Duration(min(r.Duration, maxMilliseconds)) * time.Millisecond)
	}
	step.Error = r.Error
	var text string
	if step.Tool == "" && (r.Value == nil || json.Unmarshal(r.Value, &text) == nil) {
		if _, err := (plan.Text{Max: plan.MaxLongText, Multiline: true}).Clean(text); err == nil {
			step.Output = text
			return
		}
	}
	step.Result = &plan.Result{OK: r.OK, Value: []byte(r.Value), Error: r.Error, Duration: int64(min(r.Duration, maxMilliseconds)),
		Timestamp: r.Timestamp}
}

// maxMilliseconds limits a duration, so that it also fits a time.Duration.
const maxMilliseconds = 1e12

// named makes a title for a step without a description, from its tool and the main argument.
func named(tool string, args jsontext.Value) string {
	words := strings.FieldsFunc(tool, func(r rune) bool { return r == '_' || r == '-' || r == '.' })
	if n := len(words); n > 1 && words[n-1] == "file" {
		words = words[:n-1]
	}
	var of map[string]any
	_ = json.Unmarshal(args, &of) // without an object, the title is the tool alone
	for _, name := range []string{"path", "pattern", "command"} {
		if text, ok := of[name].(string); ok {
			words = append(words, plan.Shorten(foldLine(text), 80))
			break
		}
	}
	text := strings.Join(words, " ")
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}

// withoutComments blanks // comments outside of JSON strings, so that positions stay the same.
func withoutComments(text []byte) []byte {
	text = bytes.Clone(text)
	inString, comment := false, false
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\n':
			comment = false
		case comment:
			text[i] = ' '
		case inString && text[i] == '\\':
			i++
		case text[i] == '"':
			inString = !inString
		case !inString && bytes.HasPrefix(text[i:], []byte("//")):
			comment, text[i] = true, ' '
		}
	}
	return text
}
