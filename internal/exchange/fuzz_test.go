package exchange_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/exchange"
	"github.com/planloop/planloop/plan"
)

func FuzzImportJSON(f *testing.F)      { fuzzImport(f, exchange.JSON, "*.json") }
func FuzzImportYAML(f *testing.F)      { fuzzImport(f, exchange.YAML, "*.yaml") }
func FuzzImportRawko(f *testing.F)     { fuzzImport(f, exchange.RawkoYAML, "*.yaml") }
func FuzzImportExecution(f *testing.F) { fuzzImport(f, exchange.Execution, "exec*.json") }
func FuzzImportMarkdown(f *testing.F)  { fuzzImport(f, exchange.Markdown, "*.md") }

// seeds are small texts, because a fuzzer progresses faster from them than from whole plans.
var seeds = map[exchange.Format][]string{
	exchange.JSON: {
		`{"objective":"o","steps":[{"step_id":"S002","title":"t","args":{"a":"$S002"},"when":"S002"},` +
			`{"step_id":"S005","title":"u","depends_on":["S002",2]}]}`,
		`{"plan":{"objective":"o","metadata":{"complexity":3},` +
			`"steps":[{"title":"t","evidence":[{"exit_code":0,"at":"2026-01-01T00:00:00Z"}],"result":{"ok":true,"value":[1]}}]}}`,
	},
	exchange.YAML: {
		"objective: o\nsteps:\n  - title: t\n    details: |-\n      a\n\n      b\n    notes: ['x', \"y\\n\"]\n    timeout: 3\n",
		"plan: &p {objective: o, steps: [{title: &t a b}, {title: *t, args: {k: .inf}}]}\n", "? objective\n: >\n  folded\n  text\n",
	},
	exchange.RawkoYAML: {
		"task: t\nstatus: draft\nsteps:\n  - index: 0\n    description: d\n    dependsOn: []\n" +
			"  - description: e\n    index: 4\n    dependsOn: [0]\n",
	},
	exchange.Execution: {
		`{"steps":[{"id":"a","tool":"view","args":{"path":"$b"}}, // x` + "\n" + `{"id":"b","dependsOn":["a"],"order":1}]}`,
		`{"id":"p-v2","taskId":"p","version":9,"steps":[{"id":"step_2","status":"blocked","description":"d","dependsOn":["2"],` +
			`"result":{"ok":true,"value":[1],"duration":2.5,"timestamp":"2026-01-01T00:00:00Z"}}],"estimatedDuration":3}`,
	},
	exchange.Markdown: {
		"# o\n\nStatus: draft, 0 of 1 done\n\n- [ ] S003 a\n\n  text\n\n  - depends on: S004\n  - note: x\n\n    y\n- [x] S004 b\n",
		"t\n==\n1. a\n   - b\n     c\n\n```\n- [ ] d\n```\n", "- [/] a\\*\n\t- args: {\"a\":1}\n    - [ ] b\n  <!-- c\n--> \n## s\n- [!] d",
	},
}

// fuzzImport: a text is refused with a reason, or becomes a plan that Decide accepts, that is already clean, and
// that every format can write and read.
func fuzzImport(f *testing.F, format exchange.Format, pattern string) {
	names, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err != nil || len(names) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, name := range names {
		f.Add(string(testdata(f, filepath.Base(name))))
	}
	for _, seed := range seeds[format] {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 64<<10 {
			return
		}
		got, err := exchange.Import([]byte(text), format, exchange.ImportOptions{Name: "o.json"})
		var refusal *plan.ValidationError
		if err != nil {
			if !errors.As(err, &refusal) || refusal.Problem == "" || refusal.Fix == "" {
				t.Fatalf("%v is no refusal", err)
			}
			return
		}
		s := setUp(t, got.Action)
		for _, own := range []exchange.Format{exchange.JSON, exchange.YAML} {
			written, _ := export(t, own, s)
			checkSame(t, written, own, s)
		}
		for _, lossy := range []exchange.Format{exchange.Markdown, exchange.RawkoYAML, exchange.Execution} {
			written, _ := export(t, lossy, s)
			again, err := exchange.Import([]byte(written), lossy, exchange.ImportOptions{Objective: s.Plan.Objective})
			if err != nil {
				t.Fatalf("%s: %v\n%s", lossy, err, written)
			}
			if a, b := titles(got.Action), titles(again.Action); a != b {
				t.Fatalf("%s: titles %q became %q", lossy, a, b)
			}
		}
	})
}

func titles(a plan.SetUp) string {
	list := []string{a.Objective}
	for _, s := range a.Steps {
		list = append(list, s.Title)
	}
	return strings.Join(list, "\n")
}
