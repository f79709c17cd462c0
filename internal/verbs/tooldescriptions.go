package verbs

import (
	"context"
	"errors"
	"reflect"
)

// Spec describes a verb as a tool.
type Spec struct {
	Name        string // part of the contract
	Title       string // for people
	Description string // for models; costs tokens in every conversation
	Toolset     string
	Example     string // correct arguments, shown with an error

	ReadOnly, Destructive, Idempotent, OpenWorld bool
	Submits                                      bool // in a read-only phase the user decides about its result
}

// Row is a verb in the table: its description, its types, and the function that calls it.
type Row struct {
	Spec
	In, Out reflect.Type
	// Call decodes arguments strictly and calls the verb. An error about the input
	// or the state is a *plan.ValidationError.
	Call func(context.Context, *Service, Caller, []byte) (Reply, error)
}

// Reply is the output of a verb. JSON and text each contain the whole answer.
type Reply interface {
	Text() string
}

func row[In any, Out Reply](spec Spec, call func(*Service, context.Context, Caller, In) (Out, error)) Row {
	return Row{spec, reflect.TypeFor[In](), reflect.TypeFor[Out](),
		func(ctx context.Context, s *Service, c Caller, arguments []byte) (Reply, error) {
			defer s.touch(c) // even if the input is refused
			var in In
			err := Decode(arguments, &in)
			if err != nil { // only then: a mark must not pay for the titles of a long plan
				if named, ok := s.byTitle(ctx, c, arguments); ok {
					arguments, err = named, Decode(named, &in)
				}
			}
			if bad, ok := errors.AsType[*BadCall](err); ok && spec.ReadOnly && bad.Mended != "" {
				bad.InWords = "" // nothing is lost
			}
			if err != nil {
				reply, err := s.elsewhere(ctx, c, err, &in, arguments)
				if err == nil || spec.ReadOnly {
					return reply, err
				}
				return nil, Try(ctx, s, c, err, in, call)
			}
			if update, ok := any(&in).(*Update); ok {
				s.resolve(ctx, c, update)
			}
			out, err := call(s, ctx, c, in)
			return answer(out, err, &in)
		}}
}

// answer returns the outcome of a verb; a change that was proposed instead is one.
func answer(out Reply, err error, input any) (Reply, error) {
	err = mended(err, input)
	if again, ok := errors.AsType[*ChangeProposed](err); ok {
		return again.Reply, nil
	} else if err != nil {
		return nil, err
	}
	return out, nil
}

// Toolsets.
const (
	Planning = "planning"
	Loop     = "loop"
	Mode     = "mode"

	Execution = "execution" // offered only on request
)

// Table lists the verbs that are tools, in the order of the list.
func Table() []Row { return append(rowsByDefault(), executionRows()...) }

func rowsByDefault() []Row {
	return []Row{
		row(Spec{
			Name: "planning_setup_plan", Title: "Set up a plan", Toolset: Planning,
			Description: "Start a plan for work of several steps: an objective and the first steps, in order. Archives the former plan.",
			Example: `{"objective":"Fix the login bug","initial_steps":[` +
				`{"title":"Write a failing test","details":"in login_test.go"}]}`,
		}, (*Service).SetupPlan),
		row(Spec{
			Name: "planning_add_step", Title: "Add steps", Toolset: Planning,
			Description: "Append steps to the active plan, as soon as you see they are needed.",
			Example:     `{"steps":[{"title":"Update the docs","details":"README only"}]}`,
		}, (*Service).AddStep),
		row(Spec{
			Name: "planning_update_step", Title: "Edit a step", Toolset: Planning, Idempotent: true,
			Description: "Change a step's title or details; fields that you omit are kept.",
			Example:     `{"step_id":"S001","title":"Write two failing tests"}`,
		}, (*Service).UpdateStep),
		row(Spec{
			Name: "planning_mark_step", Title: "Mark a step", Toolset: Planning,
			Description: "Set a step's status. in_progress claims it; done only when verified. Note what you observed.",
			Example:     `{"step_id":"S001","status":"done","note":"<what you saw>"}`,
		}, (*Service).MarkStep),
		row(Spec{
			Name: "planning_clear_plan", Title: "Abandon the plan", Toolset: Planning, Destructive: true,
			Description: "Abandon the current plan with its steps.",
			Example:     `{}`,
		}, (*Service).ClearPlan),
		row(Spec{
			Name: "planning_read_plan", Title: "Read the plan", Toolset: Planning, ReadOnly: true, Idempotent: true,
			Description: "Show the plan or the waiting draft in pages; filter by status, or continue from a step.",
			Example:     `{"status":"pending"}`,
		}, (*Service).ReadPlan),
		row(Spec{
			Name: "planloop_start", Title: "Start a session", Toolset: Loop, OpenWorld: true,
			Description: "Start a plan for a goal; add its tasks next. Archives the former plan.",
			Example:     `{"goal":"Implement the features described in spec.md"}`,
		}, (*Service).Start),
		row(Spec{
			Name: "planloop_status", Title: "What to do now", Toolset: Loop, ReadOnly: true, Idempotent: true,
			Description: "Get the task to do now with its hints, or the signal that blocks.",
			Example:     `{"wait":30}`,
		}, (*Service).Status),
		row(Spec{
			Name: "planloop_update", Title: "Report progress", Toolset: Loop,
			Description: "Add tasks (checked by quality gates), report on tasks, close the plan: all or nothing.",
			Example: `{"add_tasks":[{"title":"Add ` + "`hash`" + ` to User","type":"feature","context_hints":["Edit ` + "`user.py`" +
				`"],"relevant_file_paths":["user.py"]}],"update_tasks":[{"id":1,"status":"DONE"}]}`,
		}, (*Service).Update),
		row(Spec{
			Name: "planloop_alert", Title: "Raise or clear a signal", Toolset: Loop, Idempotent: true,
			Description: "Raise a signal such as failing tests, or clear it. A blocker stops everyone.",
			Example:     `{"id":"tests","level":"blocker","message":"TestLogin fails"}`,
		}, (*Service).Alert),
		row(Spec{
			Name: "planning_enter_plan_mode", Title: "Plan before acting", Toolset: Mode, Idempotent: true,
			Description: "Enter planning mode: read-only until a person approves a plan. Give a reason.",
			Example:     `{"reason":"The migration touches every model"}`,
		}, (*Service).EnterPlanMode),
		row(Spec{
			Name: "planning_submit_plan", Title: "Submit a plan", Toolset: Mode,
			Description: "Submit a plan for a person to approve, edit or reject before work begins.",
			Example: `{"summary":"Move sessions to Redis.","steps":[{"title":"Add the Redis client",` +
				`"type":"feature","risk":"low","tools":["create_file"],"context_hints":["Read ` + "`go.mod`" +
				`"],"relevant_file_paths":["go.mod"]}]}`,
		}, (*Service).SubmitPlan),
		row(Spec{
			Name: "planning_ask_user", Title: "Ask the user", Toolset: Mode,
			Description: "Ask the user or reply to a comment; answers come with planloop_status.",
			Example:     `{"question":"Which region comes first?"}`,
		}, (*Service).AskUser),
	}
}

func executionRows() []Row {
	return []Row{
		row(Spec{
			Name: "planning_apply_template", Title: "Plan from a template", Toolset: Execution, Submits: true,
			Description: "Make a plan from a template (bug fix, feature, release ...).",
			Example: `{"template":"bug-fix","parameters":{"bug":"Login fails after a restart","path":"login.go",` +
				`"tests":"login_test.go","check":"go test ./..."}}`,
		}, (*Service).ApplyTemplate),
		row(Spec{
			Name: "planning_execute_plan", Title: "Run the plan", Toolset: Execution, Destructive: true, OpenWorld: true,
			Description: "Run the steps that name a tool, in the background. Answers when a step needs you or a person, when it is " +
				"over, or after 45 s; planloop_status waits on.",
			Example: `{"parallel":2}`,
		}, (*Service).ExecutePlan),
		row(Spec{
			Name: "planning_next_step", Title: "Take the next step", Toolset: Execution,
			Description: "Claim the next step, and get all its fields, the plan's outline and results, and the last error.",
			Example:     `{"agent":"reviewer"}`,
		}, (*Service).NextStep),
		row(Spec{
			Name: "planning_recover_step", Title: "Recover from a failed step", Toolset: Execution, Destructive: true,
			Description: "Settle a step that failed, or that was started and has an unknown outcome.",
			Example:     `{"step_id":"S003","choice":"skip","reason":"The mirror holds the same files"}`,
		}, (*Service).RecoverStep),
		row(Spec{
			Name: "planning_replan", Title: "Make the next version of the plan", Toolset: Execution,
			Description: "Replan: done steps stay, failed ones are retried unless you change or skip them.",
			Example:     `{"changes":"what is different","reasoning":"why"}`,
		}, (*Service).Replan),
	}
}
