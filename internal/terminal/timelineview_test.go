package terminal

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/planloop/planloop/internal/history"
	"github.com/planloop/planloop/plan"
)

func sampleTimeline() []history.TimelineStep {
	at := func(minutes int) time.Time {
		if minutes < 0 {
			return time.Time{}
		}
		return morning.Add(time.Duration(minutes) * time.Minute)
	}
	waiting := func(from, to int) history.TimelinePart {
		return history.TimelinePart{Kind: history.PartWaiting, From: at(from), To: at(to)}
	}
	running := func(from, to int) history.TimelinePart {
		return history.TimelinePart{Kind: history.PartRunning, From: at(from), To: at(to)}
	}
	failed := func(from, to int) history.TimelinePart {
		return history.TimelinePart{Kind: history.PartFailed, From: at(from), To: at(to)}
	}
	steps := []history.TimelineStep{
		{Parts: []history.TimelinePart{running(0, 10)}, Tokens: 52_300},
		{Parts: []history.TimelinePart{waiting(0, 10), failed(10, 20), waiting(20, 25), running(25, -1)}},
		{Parts: []history.TimelinePart{waiting(0, 30), running(30, 30)}}, // done without a start
		{Parts: []history.TimelinePart{waiting(0, 5), failed(5, 6), waiting(6, -1)}},
		{Parts: []history.TimelinePart{waiting(0, 12)}},
		{Parts: []history.TimelinePart{}},
		{Parts: []history.TimelinePart{waiting(0, -1)}},
		{Parts: []history.TimelinePart{waiting(0, 59), failed(59, 60)}},
	}
	for i := range steps {
		steps[i].Step = plan.StepID(i + 1)
	}
	return steps
}

func TestTimeline(t *testing.T) {
	state := sample(t)
	steps := sampleTimeline()
	for i := range steps {
		step, _ := state.Plan.Steps.Get(steps[i].Step)
		steps[i].Title = step.Title + map[bool]string{true: "\x1b[2J"}[i == 0]
	}
	view := func(width int, environment map[string]string) PlanView {
		return PlanView{Screen: screenOf(width, environment), State: state, Now: morning.Add(time.Hour)}
	}
	plain := map[string]string{"NO_COLOR": "1"}
	for name, v := range map[string]PlanView{
		"timeline40.txt": view(40, plain), "timeline80.txt": view(80, plain), "timelinepipe.txt": view(0, nil),
		"timelinecolour.txt": view(80, nil), "timelineascii.txt": view(60, map[string]string{"NO_COLOR": "1", "LANG": "C"}),
	} {
		golden(t, name, Page{body: v.Timeline(steps)})
		for _, line := range v.Timeline(steps) {
			if v.Screen.width > 0 && ansi.StringWidth(line) > v.Screen.width {
				t.Errorf("%s: wider than the terminal: %q", name, line)
			}
		}
	}
}

func TestTimelineOfManySteps(t *testing.T) {
	v := PlanView{Screen: screenOf(80, nil), State: sample(t), Now: morning}
	if got := v.Timeline(nil); len(got) != 1 {
		t.Errorf("without a start: %q", got)
	}
	var steps []history.TimelineStep
	for i := range 100 {
		steps = append(steps, history.TimelineStep{Step: plan.StepID(i + 1), Title: fmt.Sprint("step ", i+1),
			Parts: []history.TimelinePart{{Kind: history.PartRunning, From: morning, To: morning}}})
	}
	if got := string(Joined(v.Timeline(steps))); strings.Contains(got, "S041") || !strings.Contains(got, "and 60 more") {
		t.Errorf("got\n%s", got)
	}
	v.All = true
	if got := string(Joined(v.Timeline(steps))); !strings.Contains(got, "S100") || strings.Contains(got, " more") {
		t.Errorf("got\n%s", got)
	}
}
