package prompts_test

import (
	"slices"
	"testing"

	"github.com/planloop/planloop/prompts"
)

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
