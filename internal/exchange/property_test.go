package exchange_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/exchange"
	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

// words are pieces of text with a meaning in some format.
var words = []string{
	"plain", "# head", "- [x] item", "* star", "1. one", "2) two", "key: value", "\"quoted\"", "'single'", "`code`", "<b>", "[link](x)",
	"true", "null", "~", "no", "123", "-1.5e3", "0x1F", ".inf", "2026-01-23", "12:30", "? a", "! b", "& c", "* d", "| e", "> f", "% g",
	"@ h",
	"{a", "[b", "a #b", "---", "...", "===", "\\", "\\n", "é", "日本", "😀", "S001", "$S001", "depends on: S001", "note: x",
	"Status: draft, 0 of 0 done",
	"&amp;", "_x_", "~~y~~", "a_b", ":", "-", "_", "=", "<!-- c -->", "```", "<<", "\u00a0x", "a\u0301",
}

func line(t *rapid.T, name string) string {
	parts := rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(words), rapid.StringMatching(`[ -~]{0,12}`)), 1, 4).Draw(t, name)
	return clean(strings.Join(parts, " "), false)
}

func block(t *rapid.T, name string) string {
	parts := rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(words), rapid.SampledFrom([]string{"", "  in", "\ttab", "x  y"})), 0, 5).Draw(t,
		name)
	return clean(strings.Join(parts, "\n"), true)
}

// clean returns text that follows the plan's rules, or "x" if they refuse it.
func clean(text string, multiline bool) string {
	text, err := plan.Text{Max: 1000, Multiline: multiline}.Required(text)
	if err != nil {
		return "x"
	}
	return text
}

func maybeLine(t *rapid.T, name string) string {
	if rapid.Bool().Draw(t, name+" set") {
		return line(t, name)
	}
	return ""
}

func maybeBlock(t *rapid.T, name string) string {
	if rapid.Bool().Draw(t, name+" set") {
		return block(t, name)
	}
	return ""
}

func lines(t *rapid.T, name string) []string {
	var list []string
	for i := range rapid.IntRange(0, 2).Draw(t, name) {
		list = append(list, line(t, fmt.Sprint(name, i)))
	}
	return list
}

func paths(t *rapid.T, name string) []string {
	return rapid.SliceOfN(rapid.SampledFrom([]string{"a/b.go", "docs/*.md", "./x", "..a/b", "a b/ü.txt", "dir/"}), 0, 2).Draw(t, name)
}

func moment(t *rapid.T, name string) time.Time {
	if rapid.Bool().Draw(t, name+" set") {
		return time.UnixMilli(rapid.Int64Range(0, 4e12).Draw(t, name)).UTC()
	}
	return time.Time{}
}

func value(t *rapid.T, name string) any {
	return rapid.SampledFrom([]any{"$S001", "$S001.x", "line\nbreak", 1.5, -3, nil, true, []any{}, map[string]any{},
		[]any{[]any{"a"}, map[string]any{"k: ": "v"}}, "\x01", " "}).Draw(t, name)
}

func step(t *rapid.T, i int) plan.NewStep {
	n := plan.NewStep{
		Spec: plan.Spec{
			Title: line(t, "title"), Details: maybeBlock(t, "details"),
			Type:         rapid.SampledFrom([]plan.StepType{"", plan.Feature, plan.Test}).Draw(t, "type"),
			ContextHints: lines(t, "hints"), RelevantFilePaths: paths(t, "paths"), Creates: paths(t, "creates"),
			AcceptanceCriteria: lines(t, "criteria"),
			SuggestedAgent:     maybeLine(t, "agent"),
			Risk:               rapid.SampledFrom([]plan.Risk{"", plan.LowRisk, plan.HighRisk}).Draw(t, "risk"),
			Tools:              lines(t, "tools"),
			Tool:               maybeLine(t, "tool"), Critical: rapid.Bool().Draw(t, "critical"),
			Idempotent:       rapid.Bool().Draw(t, "idempotent"),
			RequiresApproval: rapid.Bool().Draw(t, "approval"), Timeout: rapid.IntRange(0, 100).Draw(t, "timeout"),
			Pause: maybeLine(t, "pause"),
			When:  maybeLine(t, "when"), ForEach: maybeLine(t, "for each"), Verify: maybeLine(t, "verify"),
		},
		Progress: plan.Progress{
			Status: rapid.SampledFrom(statuses()).Draw(t, "status"), Output: maybeBlock(t, "output"), Error: maybeBlock(t, "error"),
			AffectedFiles: paths(t, "affected"),
			Attempts:      rapid.IntRange(0, 3).Draw(t, "attempts"), ExecutedBy: maybeLine(t, "by"), StartedAt: moment(t, "started"),
			CompletedAt: moment(t, "completed"),
		},
	}
	for k := range rapid.IntRange(0, 2).Draw(t, "notes") {
		n.Notes = append(n.Notes, block(t, fmt.Sprint("note", k)))
	}
	for dep := 1; dep <= i; dep++ {
		if rapid.Bool().Draw(t, "dep") {
			n.DependsOn = append(n.DependsOn, plan.StepID(dep))
		}
	}
	if rapid.Bool().Draw(t, "has args") {
		n.Args, _ = json.Marshal(map[string]any{line(t, "arg"): value(t, "value"), "b": value(t, "value b")})
	}
	if n.CheckReferences("", func(id plan.StepID) bool { return int(id) <= i }) != nil {
		n.Args, n.When, n.ForEach = nil, "", ""
	}
	if rapid.Bool().Draw(t, "has evidence") {
		exit := rapid.IntRange(0, 2).Draw(t, "exit")
		n.Evidence = []plan.Evidence{{Criterion: line(t, "for"), Command: block(t, "cmd"), ExitCode: &exit, Output: block(t, "out"),
			Note: block(t, "n"), By: line(t, "who"), At: moment(t, "at")}}
		raw, _ := json.Marshal(value(t, "result"))
		n.Result = &plan.Result{OK: exit == 0, Value: raw, Error: block(t, "failure"), Duration: int64(exit),
			Timestamp: moment(t, "when run")}
	}
	return n
}

func statuses() []plan.StepStatus {
	var list []plan.StepStatus
	for _, s := range plan.Pending.Values() {
		list = append(list, plan.StepStatus(s))
	}
	return list
}

func setUpAction(t *rapid.T) plan.SetUp {
	a := plan.SetUp{Outline: plan.Outline{
		Objective: line(t, "objective"), Summary: maybeBlock(t, "summary"), ContextNotes: maybeBlock(t, "context"),
		Questions: lines(t, "questions"),
		Reasoning: maybeBlock(t, "reasoning"), EstimatedDuration: rapid.IntRange(0, 9).Draw(t, "duration"),
		Metadata: plan.Metadata{Complexity: rapid.IntRange(0, 10).Draw(t, "complexity"), Tags: lines(t, "tags"),
			Constraints: lines(t, "constraints"), InformedBy: lines(t, "informed")},
	}}
	for i := range rapid.IntRange(0, 4).Draw(t, "steps") {
		a.Steps = append(a.Steps, step(t, i))
	}
	if rapid.Bool().Draw(t, "has an origin") {
		a.Import = plan.Import{ID: "p-v2", Version: 2, PreviousPlanID: "p", Changes: maybeBlock(t, "changes"),
			Discoveries: lines(t, "found"), Replans: rapid.IntRange(0, 2).Draw(t, "replans"),
			CreatedAt: moment(t, "created"), UpdatedAt: moment(t, "updated"),
			Status:    rapid.SampledFrom([]plan.PlanStatus{"", plan.StatusReplanning, plan.StatusFailed}).Draw(t, "status"),
			CreatedBy: maybeLine(t, "creator"), Highest: plan.StepID(rapid.IntRange(0, 9).Draw(t, "highest"))}
	}
	return a
}

// TestRoundTripProperty: our own formats keep every plan field by field.
func TestRoundTripProperty(t *testing.T) {
	rapidtest.Check(t, func(t *rapid.T) {
		s := setUp(t, setUpAction(t))
		for _, format := range []exchange.Format{exchange.JSON, exchange.YAML} {
			text, notes := export(t, format, s)
			if len(notes) > 0 {
				t.Fatalf("%s: notes %q", format, notes)
			}
			checkSame(t, text, format, s)
			got := testenv.Must(exchange.Import([]byte(text), format, exchange.ImportOptions{}))(t)
			got.Action.Draft = false
			if again, _ := export(t, format, setUp(t, got.Action)); again != text {
				t.Fatalf("%s (-first +second):\n%s", format, cmp.Diff(text, again))
			}
		}
	})
}

// TestMarkdownRoundTripProperty: a check list keeps everything except evidence, results, the order of dependencies,
// and trailing blanks, whatever the texts mean in Markdown.
func TestMarkdownRoundTripProperty(t *testing.T) {
	rapidtest.Check(t, func(t *rapid.T) {
		a := setUpAction(t)
		a.Import = plan.Import{} // a check list cannot express it
		s := setUp(t, a)
		checkMarkdown(t, s, cmp.Comparer(func(a, b string) bool { return trimmed(a) == trimmed(b) }))
	})
}

func trimmed(text string) string {
	list := strings.Split(text, "\n")
	for i := range list {
		list[i] = strings.TrimRight(list[i], " \t")
	}
	return strings.Trim(strings.Join(list, "\n"), "\n")
}

// TestRawkoRoundTripProperty: everything that rawko's format can express survives.
func TestRawkoRoundTripProperty(t *testing.T) {
	rapidtest.Check(t, func(t *rapid.T) {
		s := setUp(t, setUpAction(t))
		text, _ := export(t, exchange.RawkoYAML, s)
		got, err := exchange.Import([]byte(text), exchange.RawkoYAML, exchange.ImportOptions{})
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		again, _ := export(t, exchange.RawkoYAML, setUp(t, got.Action))
		if diff := cmp.Diff(withoutStatus(text), withoutStatus(again)); diff != "" {
			t.Fatalf("(-first +second):\n%s", diff)
		}
	})
}

// withoutStatus drops the lines about the plan as a whole that follow from its steps when it is set up again,
// because there blocked and cancelled are unknown.
func withoutStatus(text string) string {
	var kept []string
	for l := range strings.SplitSeq(text, "\n") {
		if !strings.HasPrefix(l, "status: ") && !strings.HasPrefix(l, "currentStepIndex: ") {
			kept = append(kept, l)
		}
	}
	return strings.Join(kept, "\n")
}
