package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/engine"
	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/plan"
)

// BenchmarkSteps carries out steps of tools that do nothing, on a log on disk: a chain, and steps that are all ready at
// the start.
func BenchmarkSteps(b *testing.B) {
	for _, c := range []struct {
		steps int
		chain bool
	}{{1_000, true}, {100, false}, {2_000, false}, {10_000, false}} {
		b.Run(fmt.Sprintf("%d,chain=%v", c.steps, c.chain), func(b *testing.B) {
			for b.Loop() {
				specs := make([]plan.NewStep, c.steps)
				for i := range specs {
					specs[i].Spec = plan.Spec{Title: "Nothing", Tool: "echo", Args: json.RawMessage(`{}`)}
					if c.chain && i > 0 {
						specs[i].DependsOn = []plan.StepID{plan.StepID(i)}
					}
				}
				seen := &crowd{}
				s := session.New(sqlite.New(b.TempDir()+"/log", sqlite.Options{}),
					session.Options{Presence: seen, Limits: plan.Limits{MaxSteps: c.steps}})
				tools, _ := (&toolbox.Registry{}).With(echo())
				for _, a := range []plan.Action{plan.SetUp{Outline: plan.Outline{Objective: "Nothing"}, Steps: specs}, plan.BeginRun{}} {
					testenv.Must(s.Do(b.Context(), person(), a, nil))(b)
				}
				begun := time.Now()
				over, err := engine.New(s, tools, seen, engine.Options{}).Run(context.Background(), engine.RunOptions{})
				if over != plan.StopCompleted || err != nil {
					b.Fatal(over, err)
				}
				state, _ := s.State(b.Context())
				b.ReportMetric(float64(time.Since(begun).Microseconds())/float64(c.steps), "µs/step")
				b.ReportMetric(float64(state.Revision)/float64(c.steps), "records/step")
				_ = s.Close()
			}
		})
	}
}
