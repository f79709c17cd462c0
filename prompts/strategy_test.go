package prompts_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/planloop/planloop/prompts"
)

func ExampleParseStrategy() {
	s, err := prompts.ParseStrategy("plan-act-reflect")
	fmt.Println(s, err)
	_, err = prompts.ParseStrategy("waterfall")
	fmt.Println(err)
	// Output:
	// plan_act_reflect <nil>
	// unknown strategy "waterfall": use one of react, plan_act_reflect, goal_decompose_route_synthesise
}

func TestParseStrategy(t *testing.T) {
	accepted := map[string]prompts.Strategy{
		"":                                prompts.DefaultStrategy,
		"  ":                              prompts.DefaultStrategy,
		"react":                           prompts.React,
		"REACT":                           prompts.React,
		" plan_act_reflect\n":             prompts.PlanActReflect,
		"plan-act_reflect":                prompts.PlanActReflect,
		"goal-decompose-route-synthesise": prompts.GoalDecomposeRouteSynthesise,
		"GOAL_DECOMPOSE_ROUTE_SYNTHESISE": prompts.GoalDecomposeRouteSynthesise,
	}
	for name, want := range accepted {
		got, err := prompts.ParseStrategy(name)
		if err != nil || got != want {
			t.Errorf("ParseStrategy(%q) = %q, %v; want %q", name, got, err, want)
		}
	}
	for _, s := range prompts.Strategies() {
		if got, err := prompts.ParseStrategy(string(s)); err != nil || got != s {
			t.Errorf("ParseStrategy(%q) = %q, %v; want itself", s, got, err)
		}
	}
}

func TestParseStrategyRefuses(t *testing.T) {
	for _, name := range []string{"waterfall", "re act", "re_act", "react,", "mindset_react", strings.Repeat("x", 10000), "\xff\x1b[31m"} {
		got, err := prompts.ParseStrategy(name)
		if got != "" || err == nil {
			t.Errorf("ParseStrategy(%.20q) = %q, %v; want it refused", name, got, err)
			continue
		}
		text := err.Error()
		if len(text) > 400 || !utf8.ValidString(text) || strings.Contains(text, "\x1b") {
			t.Errorf("error text is not fit to print: %q", text)
		}
		for _, value := range prompts.DefaultStrategy.Values() {
			if !strings.Contains(text, value) {
				t.Errorf("error %q does not offer %s", text, value)
			}
		}
	}
}

func TestValuesFollowStrategies(t *testing.T) {
	want := []string{"react", "plan_act_reflect", "goal_decompose_route_synthesise"}
	if got := prompts.Strategy("").Values(); !slices.Equal(got, want) {
		t.Errorf("Values() = %v, want %v", got, want)
	}
	if prompts.DefaultStrategy != prompts.React {
		t.Errorf("default is %s, want react", prompts.DefaultStrategy)
	}
	prompts.Strategies()[0] = "changed"
	if prompts.Strategies()[0] != prompts.React {
		t.Error("a caller can change the list of strategies")
	}
}
