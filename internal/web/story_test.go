package web

import (
	"net/http"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/review"
	"github.com/planloop/planloop/plan"
)

func TestPlanIsApprovedWithTheCodeOfTheTerminal(t *testing.T) {
	f := serve(t, nil)
	f.submit("w1")
	b := f.launch()
	watcher, _ := f.launch().stream()
	v := b.view("w1")
	if v.Draft == nil || !v.Can.Decide || !v.Can.Code {
		t.Fatalf("%+v", v)
	}
	refused := b.act("w1", "approve", decision(v))
	if told := refused.refusal(t); refused.status != http.StatusForbidden || told.Kind != locked {
		t.Errorf("without the code: %d %+v", refused.status, told)
	}
	b.typeCode()
	var done review.Done
	b.act("w1", "approve", decision(v)).into(t, &done)
	if done.Revision != v.Revision+1 || !strings.Contains(done.Message, "alice") {
		t.Errorf("%+v", done)
	}
	if got := next(t, watcher); got != `data: {"workspace":"w1","revision":2}` {
		t.Errorf("the watcher hears %q", got)
	}
	after := b.view("w1")
	if after.Draft != nil || after.Plan == nil ||
		after.Plan.Approval.Way != plan.WayPerson || after.Plan.Approval.By != "alice" || after.Can.Code {
		t.Errorf("%+v", after)
	}
}

func TestSecondToDecideIsToldWhoDid(t *testing.T) {
	f := serve(t, nil)
	f.submit("w1")
	browsers := []*browser{f.launch(), f.launch()}
	for _, b := range browsers {
		b.typeCode()
	}
	input := decision(browsers[0].view("w1"))
	replies := make(chan reply, 2)
	for _, b := range browsers {
		go func() { replies <- b.act("w1", "approve", input) }()
	}
	first, second := next(t, replies), next(t, replies)
	if first.status != http.StatusOK {
		first, second = second, first
	}
	told := second.refusal(t)
	if first.status != http.StatusOK || second.status != http.StatusConflict ||
		!strings.Contains(told.Problem, "alice approved it") {
		t.Errorf("%d %s, %d %+v", first.status, first.body, second.status, told)
	}
}

func TestInboxShowsAllWorkspacesNewestFirst(t *testing.T) {
	f := serve(t, nil)
	f.submit("w2")
	f.submit("w1")
	var inbox review.Inbox
	f.launch().get("/api/inbox").into(t, &inbox)
	if len(inbox.Workspaces) != 2 || inbox.Workspaces[0].Waiting != 1 || len(inbox.Waiting) != 2 ||
		inbox.Waiting[0].At.Before(inbox.Waiting[1].At) {
		t.Errorf("%+v", inbox)
	}
}

func TestLogAndTail(t *testing.T) {
	f := serve(t, nil)
	f.submit("w1")
	f.workspaces.sheets["w1"].Tail = func(plan.StepID) (string, error) { return "printed", nil }
	b := f.launch()
	var log review.Log
	b.get("/api/log?workspace=w1").into(t, &log)
	if len(log.Lines) != 1 || log.More {
		t.Errorf("%+v", log)
	}
	var tail struct{ Text string }
	b.get("/api/tail?workspace=w1&step=1").into(t, &tail)
	if tail.Text != "printed" {
		t.Errorf("%+v", tail)
	}
	b.get("/api/tail?workspace=w2&step=1").into(t, &tail)
	if tail.Text != "" {
		t.Errorf("%+v", tail)
	}
}
