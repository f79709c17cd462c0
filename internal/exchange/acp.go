package exchange

import (
	"cmp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/internal/yamltext"
	"github.com/planloop/planloop/plan"
)

// acpEntry is an entry of a plan in the Agent Client Protocol, versions 1 and 2.
type acpEntry struct {
	Content  string         `json:"content"`
	Priority string         `json:"priority"`
	Status   string         `json:"status"`
	Rest     jsontext.Value `json:",embed"`
}

// acpPlanID is what version 2 calls the one plan that version 1 knows.
const acpPlanID = "main"

func acpRows() []row {
	one := map[plan.StepStatus]string{plan.Pending: "pending", plan.InProgress: "in_progress", plan.Done: "completed",
		plan.Skipped: "completed", plan.Cancelled: "completed"}
	two := map[plan.StepStatus]string{plan.Pending: "pending", plan.InProgress: "in_progress", plan.Done: "completed",
		plan.Skipped: "cancelled", plan.Cancelled: "cancelled"}
	is := func(s shape) bool {
		return s.members["sessionUpdate"] != nil || membersOf(membersOf(s.members["params"])["update"])["sessionUpdate"] != nil
	}
	return []row{
		{format: ACP, json: true, about: "a plan update of the Agent Client Protocol, version 1 (reads both)", text: "Plan of an agent",
			is: is, read: parseACP, write: acpJSON, words: vocabulary{words: one}, steps: []string{"risk", "error"}},
		{format: ACP2, json: true, about: "the same, version 2", text: "Plan of an agent",
			read: parseACP, write: acpJSON, words: vocabulary{words: two}, steps: []string{"risk", "error"}},
	}
}

// parseACP reads a session update, in its JSON-RPC message or alone.
func parseACP(in input) (*source, error) {
	if pointer, problem := plan.CheckJSON(in.text, yamltext.MaxNesting); problem != "" {
		return nil, refuse(pointer, problem, "give one session update")
	}
	update, at := membersOf(in.text), ""
	if inner := membersOf(membersOf(update["params"])["update"]); inner != nil {
		update, at = inner, "/params/update"
	}
	entries := update["entries"]
	if whole := membersOf(update["plan"]); whole != nil {
		at, entries = at+"/plan", whole["entries"]
		text := cmp.Or(textOf(whole["markdown"]), textOf(whole["content"]))
		if entries == nil && text != "" {
			in.text, in.row = []byte(text), rowOf(ClaudePlan)
			return parseClaudePlan(in)
		}
	}
	if entries.Kind() != jsontext.KindBeginArray {
		return nil, refuse(at, "there are no entries in it", `give a session update with "entries"`)
	}
	var list []acpEntry
	if err := json.Unmarshal(entries, &list, scalarsAsText()); err != nil {
		return nil, decodeError(at+"/entries", err)
	}
	if len(list) > maxSteps {
		return nil, refuse(at+"/entries", "there are too many entries", "import a part of them")
	}
	l := in.list("")
	for _, entry := range list {
		memberNames(l.unknown, "entries[].", entry.Rest)
		l.add(task{Step: plan.Step{Spec: plan.Spec{Title: entry.Content, Risk: acpRisk(entry.Priority)},
			Progress: plan.Progress{Status: l.status(entry.Status)}}})
	}
	return l.done()
}

// acpRisk: what we call the risk of a step is told as its priority; the middle one says nothing.
func acpRisk(priority string) plan.Risk {
	switch risk := plan.Risk(priority); risk {
	case plan.HighRisk, plan.LowRisk:
		return risk
	}
	return ""
}

func acpJSON(r *row, s plan.State) ([]byte, []string, error) {
	entries := []acpEntry{}
	for step := range s.Plan.Steps.All() {
		entry := acpEntry{Content: step.Title, Priority: cmp.Or(string(step.Risk), "medium"), Status: r.words.write(step.Status)}
		if r.words.read(entry.Status) != step.Status { // which the status does not say there
			entry.Content += " (" + step.Status.Spaced()
			if step.Error != "" {
				entry.Content += ": " + plan.Shorten(foldLine(step.Error), 120)
			}
			entry.Content += ")"
		}
		entries = append(entries, entry)
	}
	update := map[string]any{"sessionUpdate": "plan", "entries": entries}
	if r.format == ACP2 {
		update = map[string]any{"sessionUpdate": "plan_update",
			"plan": map[string]any{"type": "items", "planId": acpPlanID, "entries": entries}}
	}
	data, err := json.Marshal(update, json.Deterministic(true))
	return append(data, '\n'), r.losses(s.Plan), err
}
