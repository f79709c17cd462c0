package plan_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

// wholeSpec has every field set, so that each can be made hostile.
func wholeSpec() plan.Spec {
	return plan.Spec{
		Title: "Copy the data", Details: "first\nlast", Type: plan.Chore, DependsOn: []plan.StepID{1},
		ContextHints: []string{"Read `a.md`"}, RelevantFilePaths: []string{"a.md"}, Creates: []string{"b.md"},
		AcceptanceCriteria: []string{"counts agree"}, SuggestedAgent: "developer", Risk: plan.HighRisk, Tools: []string{"view"},
		Tool: "shell", Args: json.RawMessage(`{"cmd":"cp"}`), Timeout: 60, Pause: "now?",
		When: "steps.S001.ok", ForEach: "*.txt", Verify: "make test",
		Retry: json.RawMessage(`{"wait":"5s","on":["timeout"]}`), Cwd: "web", Lock: "db", OutputFile: "out.json",
	}
}

func wholeStep() plan.NewStep {
	at, exit := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC), 1
	return plan.NewStep{Spec: wholeSpec(), Splits: 1, Name: "copy", Progress: plan.Progress{
		Status: plan.Failed, Notes: []string{"seen"}, Evidence: []plan.Evidence{{Criterion: "c", Command: "make", ExitCode: &exit,
			Output: "o", Note: "n", On: "4f2c1a7", By: "ann", At: at}},
		Result: &plan.Result{Value: json.RawMessage(`{"n":"v"}`), StoredName: "k", Error: "e", Duration: 5,
			Timestamp: at}, Output: "o", Error: "e", AffectedFiles: []string{"a"},
		Attempts: 2, ClaimedBy: "ann", LeaseUntil: at, ExecutedBy: "ann", StartedAt: at, CompletedAt: at,
	}}
}

func wholeOutline() plan.Outline {
	return plan.Outline{Objective: "Move it", Summary: "In parts.", ContextNotes: "Two regions", Questions: []string{"When?"},
		Reasoning:         "Cheapest first",
		EstimatedDuration: 60, Metadata: plan.Metadata{Complexity: 7, Tags: []string{"ops"}, Constraints: []string{"no downtime"},
			InformedBy: []string{"m1"}}}
}

func wholePatch() plan.Patch {
	var p plan.Patch
	spec := reflect.ValueOf(wholeSpec())
	fields := reflect.ValueOf(&p).Elem()
	for i := range fields.NumField() {
		value := reflect.New(fields.Field(i).Type().Elem())
		value.Elem().Set(spec.FieldByName(fields.Type().Field(i).Name))
		fields.Field(i).Set(value)
	}
	return p
}

func text(of string) *string { return &of }

// attempt is an action with every field set that its state accepts.
type attempt struct {
	actor  plan.Actor
	state  func(failer) *workspace
	action func(*workspace) plan.Action
}

// attempts has one for every type of action.
func attempts() map[string]attempt {
	active := func(t failer) *workspace { return withPlan(t, titled("a"), titled("b")) }
	remarked := func(t failer) *workspace { w := active(t); w.do(person, plan.AddComment{Text: "mind it"}); return w }
	asked := func(t failer) *workspace { w := waiting(t); w.do(ann, plan.AskUser{Text: "when?"}); return w }
	always := func(a plan.Action) func(*workspace) plan.Action { return func(*workspace) plan.Action { return a } }
	answer := func(w *workspace) plan.DecideDraft {
		return plan.DecideDraft{Request: w.state.ModeNow().Request.ID, Digest: plan.Digest(w.state.Draft), Comment: "split it",
			Comments: []plan.AddComment{{Text: "mind it", PlanID: w.state.Draft.ID, Step: 1, IsQuestion: true}},
			Answers:  []plan.Answer{{Question: "when?", Text: "now"}}}
	}
	two := []plan.NewStep{titled("first"), wholeStep()}
	report := plan.ReportStep{Step: 1, Note: "n", Output: "o", AffectedFiles: []string{"a"}, Evidence: wholeStep().Evidence}
	raise := plan.RaiseSignal{ID: "tests", Level: plan.Blocker, Message: "red", Step: 1, Output: "o", Reach: plan.ReachTrack}
	return map[string]attempt{
		"SetUp": {ann, active, always(plan.SetUp{Outline: wholeOutline(), Steps: two, Import: plan.Import{
			ID: "p-v2", Version: 2, PreviousPlanID: "p", Changes: "c", Discoveries: []string{"d"}, Replans: 1,
			Status: plan.StatusReplanning, CreatedAt: time.Unix(1, 0), UpdatedAt: time.Unix(2, 0), CreatedBy: "bob", Highest: 9}})},
		"AdoptHostPlan": {ann, func(t failer) *workspace { return newWorkspace(t) },
			always(plan.AdoptHostPlan{Outline: wholeOutline(), Steps: two,
				Host: "claude", Session: "s", IsHostApproved: true, IsOutlineGenerated: true,
				Task: &plan.TaskChange{Name: "1", Title: text("t"),
					Details: text("d"), Status: plan.Done, Agent: text("a"), DependsOn: []string{"2"}, Dependents: []string{"3"}}})},
		"AddSteps":    {ann, active, always(plan.AddSteps{Steps: two[1:]})},
		"UpdateStep":  {ann, active, always(plan.UpdateStep{Step: 2, Patch: wholePatch()})},
		"MoveStep":    {ann, active, always(plan.MoveStep{Step: 2})},
		"MarkStep":    {ann, active, always(plan.MarkStep{Step: 1, Status: plan.Failed, Note: "n"})},
		"ReportStep":  {ann, active, always(report)},
		"RaiseSignal": {ann, active, always(raise)},
		"Judge":       {ann, active, always(plan.Judge{Feedback: "f", Way: plan.WayAgent})},
		"Purge":       {person, active, always(plan.Purge{Records: 7})},
		"Clear":       {ann, active, always(plan.Clear{})},
		"EnterMode":   {ann, active, always(plan.EnterMode{Task: "t", Reason: "r"})},
		"AskUser":     {ann, active, always(plan.AskUser{Text: "when?"})},
		"AddComment": {person, active, func(w *workspace) plan.Action {
			return plan.AddComment{Text: "mind it", PlanID: w.state.Plan.ID, Step: 2, IsQuestion: true}
		}},
		"ReplyToComment": {ann, remarked, always(plan.ReplyToComment{Comment: "C1", Text: "I do"})},
		"ResolveComment": {person, remarked, always(plan.ResolveComment{ID: "C1", IsResolved: true})},
		"SubmitPlan":     {ann, active, always(plan.SubmitPlan{Outline: wholeOutline(), Steps: two, HostPlan: shownInHost("s")})},
		"LeaveHostReview": {ann, func(t failer) *workspace {
			w := active(t)
			w.do(ann, plan.SubmitPlan{Outline: wholeOutline(), Steps: two, HostPlan: shownInHost("s")})
			return w
		}, always(plan.LeaveHostReview{Host: "claude", Session: "s"})},
		"Batch": {ann, active, always(plan.Batch{Word: "update", Findings: plan.GateFindings{Score: 90,
			Warnings: []plan.GateWarning{{Gate: "reversible", Step: 1, Text: "has no way back.", Fix: "name one"}}},
			Parts: []plan.Part{{Field: "/a", Action: report},
				{Field: "/b", Action: raise},
				{Field: "/c", Action: plan.AddSteps{Steps: two[1:]}}}})},
		"ClaimStep": {bob, func(t failer) *workspace {
			w := claimed(t)
			w.now = w.now.Add(time.Hour)
			return w
		}, always(plan.ClaimStep{Step: 1})},
		"ClearSignal": {ann, func(t failer) *workspace { w := active(t); w.do(ann, raise); return w },
			always(plan.ClearSignal{ID: "tests"})},
		"Close": {ann, func(t failer) *workspace {
			w := withPlan(t, titled("a"))
			w.mark(1, plan.Done)
			return w
		}, always(plan.Close{Summary: "done"})},
		"Restore": {ann, func(t failer) *workspace { w := active(t); w.do(ann, plan.Clear{}); return w },
			func(w *workspace) plan.Action { return plan.Restore{PlanID: w.state.Plan.ID} }},
		"DecideDraft":          {person, asked, func(w *workspace) plan.Action { return decided(plan.Approved, answer(w)) }},
		"DecideDraft Rejected": {person, asked, func(w *workspace) plan.Action { return decided(plan.Rejected, answer(w)) }},
		"DecideDraft Returned": {person, asked, func(w *workspace) plan.Action { return decided(plan.Returned, answer(w)) }},
		"EditDraft": {person, waiting, func(w *workspace) plan.Action {
			return plan.EditDraft{Digest: answer(w).Digest, Change: plan.AddSteps{Steps: two[1:]}, After: new(plan.StepID(1))}
		}},
		"EditDraft Update": {person, waiting, func(w *workspace) plan.Action {
			return plan.EditDraft{Digest: answer(w).Digest, Change: plan.UpdateStep{Step: 2, Patch: wholePatch()}}
		}},
		"AcceptUndone": {person, waiting, func(w *workspace) plan.Action {
			return plan.AcceptUndone{Digest: answer(w).Digest, Keys: []string{"3/S001/title"}, Text: "S001's title was set by petra"}
		}},
		"RecordNoDecision": {ann, waiting, func(w *workspace) plan.Action {
			return plan.RecordNoDecision{Request: answer(w).Request, How: "declined"}
		}},
		"CancelMode": {person, waiting, always(plan.CancelMode{})},
		"ExpireMode": {ann, func(t failer) *workspace { w := waiting(t); w.now = w.now.Add(time.Hour); return w },
			always(plan.ExpireMode{})},
		"BeginRun": {ann, active, always(plan.BeginRun{})},
		"PauseRun": {ann, func(t failer) *workspace { w := active(t); w.do(ann, plan.BeginRun{}); return w },
			always(plan.PauseRun{Reason: plan.StopPaused, Note: "n"})},
		"EndRun": {person, func(t failer) *workspace { w := active(t); w.do(ann, plan.BeginRun{}); return w }, always(plan.EndRun{})},
		"Schedule": {engine, func(t failer) *workspace { return atWork(t) }, func(w *workspace) plan.Action {
			return plan.Schedule{MaxStarts: 1, Lost: []plan.Attempt{{Plan: "p", Step: 1, Attempt: 1}},
				Results: []plan.AttemptResult{{Attempt: plan.Attempt{Plan: w.state.Plan.Root(), Step: 1, Attempt: 1},
					Output: "o", Note: "n", AffectedFiles: []string{"a.go"}, OutOfScopeFiles: []string{"a.go"},
					Result: plan.Result{Value: json.RawMessage(`"v"`), StoredName: "k", Error: "e", Duration: 5, Timestamp: w.now}}}}
		}},
		"Schedule Stray": {engine, active, always(plan.Schedule{Results: []plan.AttemptResult{{
			Attempt: plan.Attempt{Plan: "other", Step: 1, Attempt: 1}, Output: "o", Result: plan.Result{Error: "e"}}}})},
		"AnswerStep": {person, func(t failer) *workspace { w := withPlan(t, tool("a"), tool("b")); w.mark(2, plan.Failed); return w },
			always(plan.AnswerStep{Step: 2, Choice: plan.Retry, Text: "t", Args: json.RawMessage(`{"a":"b"}`), Digest: "d"})},
		"AnswerStep Grant": {person, asking, always(plan.AnswerStep{Step: 1, Choice: plan.Approve, Text: "t",
			Args: json.RawMessage(`{"a":"b"}`)})},
		"AnswerStep Insert": {ann, func(t failer) *workspace { w := active(t); w.mark(1, plan.Failed); return w },
			always(plan.AnswerStep{Step: 1, Choice: plan.Insert, Text: "t", Steps: []plan.NewStep{titled("first"), titled("then", 3)}})},
		"Replan": {ann, active, always(plan.Replan{Changes: "c", Reasoning: "r", Discoveries: []string{"d"},
			Constraints: []string{"e"}})},
		"AddContext": {ann, active, always(plan.AddContext{Constraints: []string{"c"}, Findings: "f"})},
		"WithdrawProposal": {ann, func(t failer) *workspace {
			w := approvedPlan(t)
			w.do(ann, plan.AddSteps{Steps: []plan.NewStep{titled("more")}})
			return w
		}, always(plan.WithdrawProposal{})},
		"EndMode":    {ann, approvedPlan, always(plan.EndMode{})},
		"ShareTrack": {itself, approvedPlan, always(plan.ShareTrack{From: "ann's laptop"})},
		"AnswerQuestion": {person, func(t failer) *workspace { w := active(t); w.do(ann, plan.AskUser{Text: "when?"}); return w },
			always(plan.AnswerQuestion{ID: "Q1", Answer: "now"})},
	}
}

// partly names the attempts without the fields that exclude others of their action.
func partly() []string {
	return []string{"AdoptHostPlan", "Schedule Stray", "EditDraft", "EditDraft Update", "AnswerStep", "AnswerStep Grant",
		"AnswerStep Insert"}
}

// TestEveryActionIsTried finds the types of action in the source.
func TestEveryActionIsTried(t *testing.T) {
	source := packageSource(t)
	tried, listed := attempts(), namesIn(source, "actionTable")
	listed["Batch"] = true // its traits follow from its parts
	ast.Inspect(source, func(n ast.Node) bool {
		f, ok := n.(*ast.FuncDecl)
		if !ok || f.Name.Name != "decide" || f.Recv == nil {
			return true
		}
		name := f.Recv.List[0].Type.(*ast.Ident).Name
		if _, ok := tried[name]; !ok {
			t.Errorf("no attempt with a %s", name)
		}
		if !listed[name] {
			t.Errorf("the table of actions has no %s", name)
		}
		delete(tried, name)
		return true
	})
	for name := range tried {
		if action, _, _ := strings.Cut(name, " "); !listed[action] {
			t.Errorf("there is no action %s", name)
		}
	}
}

// packageSource returns the declarations of package plan without its tests.
func packageSource(t *testing.T) *ast.File {
	t.Helper()
	paths := testenv.Must(filepath.Glob("*.go"))(t)
	all := &ast.File{Name: ast.NewIdent("plan")}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file := testenv.Must(parser.ParseFile(token.NewFileSet(), path, nil, 0))(t)
		all.Decls = append(all.Decls, file.Decls...)
	}
	return all
}

// namesIn returns the names that the value of a variable mentions.
func namesIn(in ast.Node, variable string) map[string]bool {
	names := map[string]bool{}
	ast.Inspect(in, func(n ast.Node) bool {
		if f, ok := n.(*ast.ValueSpec); ok && f.Names[0].Name == variable {
			ast.Inspect(f.Values[0], func(n ast.Node) bool {
				if name, ok := n.(*ast.Ident); ok {
					names[name.Name] = true
				}
				return true
			})
		}
		return true
	})
	return names
}

func hostileTexts() []string {
	return []string{"\x1b[31m", "a\u202eb", "a\x00b", "a\rb", "a\u200bb", "a\ufe0fb", "a\u3164b", "\u115f", "\U000E0041", "a\u2066b",
		"a\u2028b", "a\xffb",
		"a\u200db", "a\u0085b", "e\u0301", " padded ", " ", "a\n\u202eb", strings.Repeat("x", 20_001)}
}

// TestNoHostileTextPassesDecide puts hostile texts, texts too long, too many entries and numbers
// out of range into every field of every action.
func TestNoHostileTextPassesDecide(t *testing.T) {
	for name, try := range attempts() {
		t.Run(name, func(t *testing.T) {
			w := try.state(t)
			valid := try.action(w)
			if !slices.Contains(partly(), name) {
				wantWhole(t, reflect.ValueOf(valid), name)
			}
			if events, err := plan.Decide(w.state, valid, w.facts(try.actor, valid)); err != nil || len(events) == 0 {
				t.Fatalf("the valid action: %v, %v", kinds(events), err)
			}
			for path, hostile := range hostiles(reflect.ValueOf(valid)) {
				a := hostile.Interface().(plan.Action)
				events, err := plan.Decide(w.state, a, w.facts(try.actor, a))
				wantRefusedOrClean(t, path, events, err)
			}
		})
	}
}

// TestAnyTextInAnyField draws the field and the text.
func TestAnyTextInAnyField(t *testing.T) {
	all := attempts()
	worlds := map[string]*workspace{}
	for name, try := range all {
		worlds[name] = try.state(t)
	}
	rapidtest.Check(t, func(r *rapid.T) {
		name := rapid.SampledFrom(slices.Sorted(maps.Keys(all))).Draw(r, "action")
		try, w := all[name], worlds[name]
		text := rapid.StringOf(rapid.OneOf(rapid.Rune(), rapid.SampledFrom([]rune{0x200d, 0xfe0f, 0x202e, 0x1b, '\n', 'a', 0x301,
			0x2764, 0x1F469, 0x94d, 0x915}))).Draw(r, "text")
		var a plan.Action
		leaf, n := rapid.IntRange(0, 60).Draw(r, "field"), 0
		for _, changed := range walk(reflect.ValueOf(try.action(w)), "", func(v reflect.Value) []any {
			if v.Kind() == reflect.String {
				return []any{text}
			}
			return nil
		}) {
			if a = changed.Interface().(plan.Action); n == leaf {
				break
			}
			n++
		}
		if a == nil {
			return // it has no text
		}
		events, err := plan.Decide(w.state, a, w.facts(try.actor, a))
		wantRefusedOrClean(r, name, events, err)
	})
}

func TestActorsAreChecked(t *testing.T) {
	w := withPlan(t, titled("a"))
	for _, text := range append(hostileTexts(), "", strings.Repeat("x", plan.MaxName+1)) {
		w.refused(plan.Actor{Kind: plan.Agent, Name: text}, plan.MarkStep{Step: 1, Status: plan.Done})
		w.refused(plan.Actor{Kind: plan.ActorKind(text), Name: "ann"}, plan.MarkStep{Step: 1, Status: plan.Done})
	}
}

// TestArchivedBodiesAreChecked: a log older than the checks of texts brings nothing back.
func TestArchivedBodiesAreChecked(t *testing.T) {
	w := withPlan(t, titled("first"), wholeStep())
	id := w.state.Plan.ID
	w.do(ann, plan.Clear{})
	body := w.past(id).Body()
	body.Changes, body.FinalSummary = "c", "s"
	body.Approval = &plan.Approval{By: "petra", Way: string(plan.WayPerson), Comment: "c", Deviations: []string{"d"}}
	body.Verdict = &plan.Verdict{Feedback: "f", By: "ann", Way: plan.WayAgent}
	facts := w.facts(ann, plan.Clear{})
	facts.FormerPlan = body.Build()
	testenv.Must(plan.Decide(w.state, plan.Restore{PlanID: id}, facts))(t)
	for path, hostile := range hostiles(reflect.ValueOf(body)) {
		if strings.HasSuffix(path, ".Steps[].ID") {
			continue // a log with another id is not decoded
		}
		facts.FormerPlan = hostile.Interface().(plan.Body).Build()
		events, err := plan.Decide(w.state, plan.Restore{PlanID: id}, facts)
		wantRefusedOrClean(t, path, events, err)
	}
}

// hostiles yields copies of an action with one hostile field each.
func hostiles(v reflect.Value) func(func(string, reflect.Value) bool) {
	return walk(v, "", func(v reflect.Value) []any {
		switch v.Kind() {
		case reflect.String:
			var texts []any
			for _, text := range hostileTexts() {
				texts = append(texts, text)
			}
			return texts
		case reflect.Int:
			return []any{-1, 1 << 40, int(plan.MaxStepID) + 1}
		case reflect.Int64:
			return []any{-1}
		case reflect.Slice:
			if v.Type() == reflect.TypeFor[json.RawMessage]() {
				return []any{json.RawMessage(`{"a":"` + "\u202e" + `"}`), json.RawMessage(`{"a":`),
					json.RawMessage(`{"` + "\u200b" + `":1}`), json.RawMessage("{\"a\":\"\x7f\"}")}
			}
			many, enough := v, plan.DefaultMaxSteps+1
			if v.Type() == reflect.TypeFor[[]plan.Part]() {
				enough *= 4
			}
			for many.Len() > 0 && many.Len() < enough {
				many = reflect.AppendSlice(many, many)
			}
			return []any{many.Interface()}
		}
		return nil
	})
}

// walk yields copies of v with one field each set to one of the values that f returns for it, with
// the field's path.
func walk(v reflect.Value, path string, f func(reflect.Value) []any) func(func(string, reflect.Value) bool) {
	return func(yield func(string, reflect.Value) bool) {
		for _, value := range f(v) {
			into := reflect.New(v.Type()).Elem()
			into.Set(reflect.ValueOf(value).Convert(v.Type()))
			if !yield(path, into) {
				return
			}
		}
		inside := func(path string, inner reflect.Value, put func(copied, changed reflect.Value)) bool {
			for at, changed := range walk(inner, path, f) {
				copied := reflect.New(v.Type()).Elem()
				copied.Set(v)
				put(copied, changed)
				if !yield(at, copied) {
					return false
				}
			}
			return true
		}
		switch {
		case v.Type() == reflect.TypeFor[time.Time](), v.Type() == reflect.TypeFor[json.RawMessage](),
			v.Type() == reflect.TypeFor[plan.Steps]():
		case v.Kind() == reflect.Struct:
			for i := range v.NumField() {
				if name := v.Type().Field(i).Name; name != "ExitCode" && // may be any number
					!inside(path+"."+name, v.Field(i), func(copied, changed reflect.Value) { copied.Field(i).Set(changed) }) {
					return
				}
			}
		case v.Kind() == reflect.Slice:
			for i := range v.Len() {
				if !inside(path+"[]", v.Index(i), func(copied, changed reflect.Value) {
					list := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
					reflect.Copy(list, v)
					list.Index(i).Set(changed)
					copied.Set(list)
				}) {
					return
				}
			}
		case v.Kind() == reflect.Interface && !v.IsNil():
			inside(path, v.Elem(), func(copied, changed reflect.Value) { copied.Set(changed) })
		case v.Kind() == reflect.Pointer && !v.IsNil():
			inside(path, v.Elem(), func(copied, changed reflect.Value) {
				to := reflect.New(changed.Type())
				to.Elem().Set(changed)
				copied.Set(to)
			})
		}
	}
}

// wantWhole fails if a field has no value that could be made hostile.
func wantWhole(t *testing.T, v reflect.Value, path string) {
	t.Helper()
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			wantWhole(t, v.Field(i), path+"."+v.Type().Field(i).Name)
		}
	case reflect.Slice, reflect.String, reflect.Pointer, reflect.Interface:
		if strings.HasSuffix(path, ".Steps.Execution") {
			return // of a plan from elsewhere: TestWhatNoRunCanHaveMadeIsRefused
		}
		if v.IsZero() && !strings.HasPrefix(path, "SetUp.Steps.") && !strings.HasPrefix(path, "SubmitPlan.Steps.") {
			t.Errorf("%s is not set", path)
		}
		if v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
			wantWhole(t, v.Elem(), path)
		}
		if v.Kind() == reflect.Slice && v.Len() > 0 {
			wantWhole(t, v.Index(v.Len()-1), path)
		}
	}
}

func wantRefusedOrClean(t failer, path string, events []plan.Event, err error) {
	t.Helper()
	var refused *plan.ValidationError
	if err != nil {
		if !errors.As(err, &refused) || refused.Problem == "" || refused.Fix == "" {
			t.Fatalf("%s: refused with %#v", path, err)
		}
		return
	}
	for _, e := range events {
		wantClean(t, path+" in "+plan.EventKind(e), reflect.ValueOf(e))
	}
}

// wantClean fails if an event holds a text, list or number that must not be.
func wantClean(t failer, path string, v reflect.Value) {
	t.Helper()
	rule := plan.Text{Max: plan.MaxLongText, Multiline: true}
	switch {
	case v.Type() == reflect.TypeFor[time.Time](), v.Type() == reflect.TypeFor[plan.Steps]():
	case v.Type() == reflect.TypeFor[json.RawMessage]():
		if _, err := rule.Clean(string(v.Bytes())); err != nil {
			t.Fatalf("%s: %q: %v", path, v.Bytes(), err)
		}
	case v.Kind() == reflect.String:
		if clean, err := rule.Clean(v.String()); err != nil || clean != v.String() {
			t.Fatalf("%s: %q: %v", path, v.String(), err)
		}
	case v.Type() == reflect.TypeFor[plan.StepID](), v.Kind() == reflect.Int:
		if n := v.Int(); n < 0 || n > 1<<31 || v.Type() == reflect.TypeFor[plan.StepID]() && n > int64(plan.MaxStepID) {
			t.Fatalf("%s: %d", path, n)
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			wantClean(t, path+"."+v.Type().Field(i).Name, v.Field(i))
		}
	case v.Kind() == reflect.Slice:
		if v.Len() > plan.DefaultMaxSteps {
			t.Fatalf("%s has %d entries", path, v.Len())
		}
		for i := range v.Len() {
			wantClean(t, path+"[]", v.Index(i))
		}
	case v.Kind() == reflect.Pointer && !v.IsNil():
		wantClean(t, path, v.Elem())
	}
}
