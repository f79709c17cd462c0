package verbs

import "github.com/planloop/planloop/plan"

// Face says in whose words a reply names the next call.
type Face int

// The faces.
const (
	Tool    Face = iota // names of MCP tools
	Command             // lines of the command line
)

func (f Face) setup() string {
	if f == Command {
		return "planloop setup OBJECTIVE"
	}
	return "planning_setup_plan"
}

func (f Face) addStep() string {
	if f == Command {
		return "planloop step add TITLE"
	}
	return "planning_add_step"
}

func (f Face) mark(id plan.StepID, status plan.StepStatus) string {
	if f == Command {
		return "planloop step mark " + id.String() + " " + string(status)
	}
	return "planning_mark_step " + id.String() + " " + string(status)
}

func (f Face) read() string {
	if f == Command {
		return "planloop show"
	}
	return "planning_read_plan"
}
