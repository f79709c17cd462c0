package mcpserver_test

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// said collects the content of an answer's structured part: texts, numbers and field names. False, empty and null
// values are skipped.
type said struct {
	texts   []string
	numbers []int
	names   []string
}

func (s *said) add(name string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			s.names = append(s.names, strings.Split(key, "_")...)
			s.add(key, inner)
		}
	case []any:
		s.numbers = append(s.numbers, len(value)) // a text may give the length of a list
		for _, inner := range value {
			s.add(name, inner)
		}
	case string:
		if text := oneLine(value); text != "" {
			s.texts = append(s.texts, text)
		}
	case float64:
		s.numbers = append(s.numbers, int(value))
	}
}

// facts lists the texts and numbers that must appear.
func facts(name string, value any) []string {
	var told []string
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			told = append(told, facts(key, inner)...)
		}
	case []any:
		for _, inner := range value {
			told = append(told, facts(name, inner)...)
		}
	case string:
		if text := oneLine(value); text != "" && !slices.Contains(said0, text) {
			told = append(told, text)
		}
	case float64:
		told = append(told, strconv.Itoa(int(value)))
	}
	return told
}

// said0 lists values that the contract puts into every answer of a kind, and that carry no information.
var said0 = []string{"success", "session_created", "Session created. Agent can now begin work"}

// spoken maps values of fields to their wording in texts.
var spoken = map[string]string{"awaiting_approval": "waits for a person|wait for a person",
	"client-confirmed": "confirmed through the client", "called_off": "cancelled", "TODO": "pending|blocked|failed", "CANCELLED": "skipped",
	"person": "approved by|rejected by|returned by", "submitted": "wait for a person", "gathering": "planning mode",
	"executing": "approved", "inactive": "rejected|off|continues|expired",
	"waiting_for_agent": "waiting for agent", "waiting_for_person": "waiting for person", "0": "."} // zeros are not counted

var (
	idRange  = regexp.MustCompile(`S(\d+)-S(\d+)`)
	oneID    = regexp.MustCompile(`\bS0*(\d+)\b`)
	oneWord  = regexp.MustCompile(`[\pL\d]+`)
	aCounter = regexp.MustCompile(`^\d+$`)
)

// oneLine normalizes a text: no line layout, ids or final full stop.
func oneLine(text string) string {
	text = idRange.ReplaceAllStringFunc(text, func(ids string) string {
		ends := idRange.FindStringSubmatch(ids)
		from, _ := strconv.Atoi(ends[1])
		to, _ := strconv.Atoi(ends[2])
		var all []string
		for id := from; id <= to; id++ {
			all = append(all, strconv.Itoa(id))
		}
		return strings.Join(all, " ")
	})
	text = oneID.ReplaceAllString(text, "$1")
	return strings.TrimSuffix(strings.Join(strings.Fields(text), " "), ".")
}

// missing lists the facts of the structured content that the text lacks.
func missing(text string, structured any) []string {
	text = oneLine(text)
	var lost []string
	for _, fact := range facts("", structured) {
		pattern := regexp.QuoteMeta(fact)
		if aCounter.MatchString(fact) {
			pattern = `\b` + pattern + `\b`
		}
		if other := spoken[fact]; other != "" {
			pattern += "|" + other
		}
		if !regexp.MustCompile("(?i)" + pattern).MatchString(text) {
			lost = append(lost, fact)
		}
	}
	return lost
}

// beyond lists the words of the text that are neither in the structured content nor in framing.
func beyond(text string, structured any) []string {
	var s said
	s.add("", structured)
	slices.SortFunc(s.texts, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	text = oneLine(text)
	for _, known := range s.texts {
		text = strings.ReplaceAll(text, known, "|")
	}
	var own []string
	for _, word := range oneWord.FindAllString(text, -1) {
		n, err := strconv.Atoi(word)
		isName := func(name string) bool {
			return strings.EqualFold(strings.TrimSuffix(name, "s"), strings.TrimSuffix(word, "s"))
		}
		if err == nil && slices.Contains(s.numbers, n) || slices.ContainsFunc(s.names, isName) ||
			slices.Contains(strings.Fields(framing), strings.ToLower(word)) {
			continue
		}
		own = append(own, word)
	}
	return own
}

// framing lists the words that a text puts around facts.
const framing = `a an and are as at be by for from in is it its of on or the to was were which with after then more
	next done plan step task depends waits archived replaces no type
	added updated steps created open comes first signal nothing new found cleared suggestions
	planning mode entered answered comments approved rejected returned changed submitted again user confirmed through client ended
	goes on waiting continues unchanged changes blocked pending`

// do is a step of a story: a call of a tool, or an outside event.
type do struct {
	tool, arguments string
	first           func(w modeWorld)
}

func (w modeWorld) says(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// stories cover every tool and every reason of a status.
func stories() map[string][]do {
	submission, _ := json.Marshal(goodPlan())
	status := do{tool: "planloop_status", arguments: `{}`}
	rich := `{"title":"Refuse expired sessions","details":"Compare with the clock.\nKeep the grace period.","type":"bugfix",` +
		`"context_hints":["Read the module file","Mind the skew"],"relevant_file_paths":["go.mod","clock.go"],` +
		`"creates":["grace.go"],"acceptance_criteria":["a 401 comes back","the grace holds"],"verify":"go test ./session",` +
		`"risk":"high","tools":["bash"],"dependencies":[1]}`
	decide := func(outcome plan.Outcome, comment string) func(w modeWorld) {
		return func(w modeWorld) { w.decide(outcome, comment) }
	}
	another := func(act func(w modeWorld, c verbs.Caller) error) func(w modeWorld) {
		return func(w modeWorld) {
			w.says(act(w, verbs.Caller{Actor: plan.Actor{Kind: plan.Agent, Name: "another"}}))
		}
	}
	return map[string][]do{
		"six": {status,
			{tool: "planning_setup_plan", arguments: `{"objective":"Fix the login bug","initial_steps":["Look","Mend","Test"]}`},
			{tool: "planning_setup_plan", arguments: `{"objective":"Fix the logout bug","initial_steps":["Search","Repair"]}`}, status,
			{tool: "planning_add_step", arguments: `{"steps":[{"title":"Document it","details":"in the README"},"Publish"]}`},
			{tool: "planning_update_step", arguments: `{"step_id":1,"title":"Search the log","details":"of May"}`},
			{tool: "planning_mark_step", arguments: `{"step_id":1,"status":"in_progress","note":"three lines look odd"}`}, status,
			{tool: "planning_mark_step", arguments: `{"step_id":1,"status":"done"}`},
			{tool: "planning_mark_step", arguments: `{"step_id":2,"status":"blocked","note":"no access"}`},
			{tool: "planning_read_plan", arguments: `{}`}, {tool: "planning_read_plan", arguments: `{"status":"open"}`},
			{tool: "planloop_status", arguments: `{"full":true}`}, {tool: "planning_clear_plan", arguments: `{}`}, status},
		"loop": {{tool: "planloop_start", arguments: `{"goal":"Expire sessions"}`}, status,
			{tool: "planloop_start", arguments: `{"goal":"Expire the sessions"}`},
			{tool: "planloop_update", arguments: `{"update_tasks":[{"id":1,"status":"DONE"}],"add_tasks":[` + rich + `,` +
				`{"title":"Measure the lookup","type":"chore","context_hints":["Use the benchmark"],"relevant_file_paths":["go.mod"],` +
				`"dependencies":[2]}]}`}, status,
			{tool: "planloop_status", arguments: `{"full":true}`}, {tool: "planloop_status", arguments: `{"task":1}`},
			{tool: "planloop_update", arguments: `{"update_tasks":[{"id":2,"status":"IN_PROGRESS","note":"the clock is injected",` +
				`"output":"ok  session 0.1s","affected_files":["clock.go"]}]}`}, status,
			{tool: "planloop_alert", arguments: `{"id":"lint","level":"warning","message":"unused variable","task_id":2}`}, status,
			{tool: "planloop_alert", arguments: `{"id":"tests","message":"TestGrace fails","task_id":2}`}, status,
			{tool: "planloop_update", arguments: `{"update_tasks":[{"id":2,"status":"DONE"}]}`},
			{tool: "planloop_alert", arguments: `{"id":"ci","message":"the runner is gone"}`},
			{tool: "planloop_alert", arguments: `{"id":"cd","level":"warning","message":"the mirror is slow"}`},
			{tool: "planloop_alert", arguments: `{"id":"ci","clear":true}`},
			{tool: "planloop_alert", arguments: `{"id":"tests","clear":true}`},
			status,
			{tool: "planning_mark_step", arguments: `{"step_id":3,"status":"done"}`}, status,
			{tool: "planloop_update", arguments: `{"final_summary":"All of it works."}`}, status},
		"others": {{tool: "planning_setup_plan", arguments: `{"objective":"Release it","initial_steps":["Build"]}`},
			{tool: "planloop_status", arguments: `{}`, first: another(func(w modeWorld, c verbs.Caller) error {
				_, err := w.service.Mark(w.t.Context(), c, plan.MarkStep{Step: 1, Status: plan.InProgress})
				return err
			})},
			{tool: "planloop_status", arguments: `{}`, first: another(func(w modeWorld, c verbs.Caller) error {
				_, err := w.service.Mark(w.t.Context(), c, plan.MarkStep{Step: 1, Status: plan.Failed, Note: "no compiler"})
				return err
			})},
			{tool: "planloop_update", arguments: `{"update_tasks":[{"id":1,"critical":true,"error":"no linker"}]}`}, status,
			{tool: "planloop_status", arguments: `{}`, first: func(w modeWorld) {
				_, err := w.service.Comment(w.t.Context(), petra, plan.AddComment{Text: "Mind the holidays."})
				w.says(err)
			}}},
		"mode": {{tool: "planning_enter_plan_mode", arguments: `{"reason":"it touches every model"}`}, status,
			{tool: "planning_ask_user", arguments: `{"question":"Which region comes first?"}`}, status,
			{tool: "planloop_status", arguments: `{}`, first: func(w modeWorld) {
				_, err := w.service.Answer(w.t.Context(), petra, "", "Europe")
				w.says(err)
			}},
			{tool: "planning_submit_plan", arguments: string(submission)}, status,
			{tool: "planning_read_plan", arguments: `{"of":"draft"}`},
			{tool: "planloop_status", arguments: `{}`, first: decide(plan.Returned, "Name the host.")},
			{tool: "planning_submit_plan", arguments: string(submission)},
			{tool: "planloop_status", arguments: `{}`, first: decide(plan.Approved, "Go on.")}, status,
			{tool: "planning_read_plan", arguments: `{"of":"approved"}`}, {tool: "planning_read_plan", arguments: `{}`},
			{tool: "planloop_update", arguments: `{"update_tasks":[{"id":1,"tools":["create_file","kubectl"]}]}`}, status,
			{tool: "planloop_status", arguments: `{}`, first: decide(plan.Rejected, "No clusters.")},
			{tool: "planloop_update", arguments: `{"end_mode":true}`}, status},
		"template": {{tool: "planning_apply_template", arguments: `{}`},
			{tool: "planning_apply_template", arguments: `{"template":"move","parameters":{"what":"sessions"}}`},
			{tool: "planning_apply_template", arguments: `{"template":"foreign","parameters":{"what":"users"}}`},
			{tool: "planning_enter_plan_mode", arguments: `{"reason":"it is large"}`},
			{tool: "planning_apply_template", arguments: `{"template":"move","parameters":{"what":"carts"}}`}, status},
		"execution": {{tool: "planning_setup_plan", arguments: `{"objective":"Release it","initial_steps":["Build","Test","Ship"]}`},
			{tool: "planloop_update", arguments: `{"add_tasks":[{"title":"Read the ` + "`log`" + ` file","tool":"bash_execute",` +
				`"args":{"command":"cat log"}}]}`},
			{tool: "planning_execute_plan", arguments: `{}`},
			{tool: "planning_next_step", arguments: `{"agent":"builder"}`},
			{tool: "planloop_update", arguments: `{"update_tasks":[{"id":1,"error":"the compiler is missing"}]}`},
			{tool: "planning_recover_step", arguments: `{"step_id":"S001","choice":"retry","reason":"it is installed"}`},
			{tool: "planning_next_step", arguments: `{}`},
			{tool: "planloop_update", arguments: `{"update_tasks":[{"id":1,"error":"no network"}]}`},
			{tool: "planning_recover_step", arguments: `{"step_id":"S001","choice":"insert","steps":[{"title":"Install the ` + "`gcc`" +
				` package","type":"chore","context_hints":["Read the module file"],"relevant_file_paths":["go.mod"]}]}`},
			{tool: "planloop_update", arguments: `{"update_tasks":[{"id":5,"error":"no rights"}]}`},
			{tool: "planning_execute_plan", arguments: `{"wait":5}`},
			{tool: "planning_replan", arguments: `{"changes":"Build elsewhere","reasoning":"It has a compiler",` +
				`"update_tasks":[{"id":5,"skip":"not needed there"},{"id":1,"dependencies":[]}]}`},
			{tool: "planning_next_step", arguments: `{}`}, {tool: "planloop_update", arguments: `{"replan":"Ship later"}`}, status},
		"rejected": {{tool: "planning_setup_plan", arguments: `{"objective":"Release it","initial_steps":["Build"]}`},
			{tool: "planning_enter_plan_mode", arguments: `{"reason":"it is large"}`},
			{tool: "planning_ask_user", arguments: `{"question":"Which region comes first?"}`},
			{tool: "planning_submit_plan", arguments: string(submission)},
			{tool: "planloop_status", arguments: `{}`, first: decide(plan.Rejected, "Not now.")}, status},
	}
}

// TestTextAndStructureSayTheSame walks through stories in which every tool answers: hosts show a model either the
// text or the structured content, so each must be complete.
func TestTextAndStructureSayTheSame(t *testing.T) {
	answered := map[string]bool{}
	users := map[string]*mcp.ClientOptions{"": nil, ", approved in a dialogue": says("accept", map[string]any{"decision": "approve",
		"comment": "Tests first.", "answer": "Asia"})}
	for name, story := range stories() {
		for user, opts := range users {
			t.Run(name+user, func(t *testing.T) {
				w := newModeWorld(t, plan.Limits{})
				client := w.connect(t, handshake, opts)
				for _, step := range story {
					if opts != nil && step.first != nil {
						continue
					}
					if step.first != nil {
						step.first(w)
					}
					result := call(t, client, step.tool, json.RawMessage(step.arguments))
					if result.IsError {
						if opts == nil {
							t.Errorf("%s %s: %s", step.tool, step.arguments, text(t, result))
						}
						continue
					}
					answered[step.tool] = true
					structured, err := json.MarshalIndent(result.StructuredContent, "", " ")
					told := strings.ReplaceAll(text(t, result), safetext.Mark, "  ")
					lost, own := missing(told, result.StructuredContent), beyond(told, result.StructuredContent)
					if len(lost)+len(own) > 0 || err != nil {
						t.Errorf("%s %s:\nonly structured: %q\nonly text: %q\n%s\n%s", step.tool, step.arguments, lost, own,
							text(t, result), structured)
					}
				}
			})
		}
	}
	for _, row := range verbs.Table() {
		if !answered[row.Name] {
			t.Errorf("no story has an answer of %s", row.Name)
		}
	}
}

// TestApprovalIsToldWithThePlanWhole: a submission's answer that tells of the approval has every approved detail of every
// step. If the plan is too long, it has as many whole steps as fit, and the call that reads the others. Statuses have the
// current step whole and the titles of others, also the first one after an approval elsewhere, and the same call.
func TestApprovalIsToldWithThePlanWhole(t *testing.T) {
	count := counter(t)
	for _, steps := range []int{3, 300} {
		for name, era := range map[string]string{"dialogue " + handshake: handshake, "dialogue " + stateless: stateless,
			"terminal": handshake} {
			t.Run(strconv.Itoa(steps)+" "+name, func(t *testing.T) {
				w, opts := newModeWorld(t, plan.Limits{}), says("accept", map[string]any{"decision": "approve"})
				if name == "terminal" {
					opts = nil
				}
				client := w.connect(t, era, opts)
				submitted := goodPlan()
				var list []map[string]any
				for i := range steps {
					n := strconv.Itoa(i + 1)
					list = append(list, map[string]any{"title": "Write the part " + n, "type": "feature", "risk": "low",
						"details": "Mind corner " + n + ".", "context_hints": []string{"Read chapter " + n},
						"relevant_file_paths": []string{"go.mod"}, "tools": []string{"edit" + n},
						"acceptance_criteria": []string{"criterion " + n}, "verify": "go test -run Part" + n})
				}
				submitted["steps"] = list
				told := call(t, client, "planning_submit_plan", submitted)
				if name == "terminal" {
					w.decide(plan.Approved, "")
					told = call(t, client, "planloop_status", nil)
				}
				later := call(t, client, "planloop_status", nil)
				for kind, shown := range map[string][2]any{"text": {text(t, told), text(t, later)},
					"structured": {told.StructuredContent, later.StructuredContent}} {
					data, _ := json.Marshal(shown[0])
					after, _ := json.Marshal(shown[1])
					for i := range min(steps, 20) {
						if name == "terminal" {
							break
						}
						for _, part := range []string{"Write the part ", "Mind corner ", "Read chapter ", "edit", "criterion ", "Part"} {
							if !regexp.MustCompile(part + strconv.Itoa(i+1) + `\b`).Match(data) {
								t.Errorf("%s: %s%d is missing in\n%s", kind, part, i+1, data)
							}
						}
					}
					readOn := `planning_read_plan {\"of\":\"approved\",\"from\":`
					if name == "terminal" {
						readOn = `planning_read_plan {\"of\":\"approved\"}`
					}
					if steps > 20 && !strings.Contains(string(data), readOn) &&
						!strings.Contains(string(data), `planning_read_plan {\\\"of\\\":`) {
						t.Errorf("%s: nothing reads on:\n%s", kind, data)
					}
					if n := count(shown[0]); n > 10_000 {
						t.Errorf("%s costs %d tokens, want at most 10,000", kind, n)
					}
					if name == "terminal" && string(data) != string(after) {
						t.Errorf("%s: a second status differs:\n%s\n%s", kind, data, after)
					}
					if n := count(shown[1]); n > 1_500 || !strings.Contains(string(after), "Mind corner 1.") ||
						strings.Contains(string(after), "Mind corner 2.") ||
						!strings.Contains(string(after), "Write the part 2") {
						t.Errorf("%s of a later status costs %d tokens:\n%s", kind, n, after)
					}
				}
			})
		}
	}
}
