package mcpserver_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/mcpserver"
	"github.com/planloop/planloop/plan"
)

// longTitles returns titles of maximum length, in text that costs a model few tokens and many.
func longTitles() map[string]string {
	return map[string]string{
		"English": strings.Repeat("Investigate the flaky authentication test ", 4)[:160],
		"signs":   strings.Repeat("x9-Q_7(z)", 20)[:160],
		"Chinese": strings.Repeat("检查登录页面的测试", 20),
		"emoji":   strings.Repeat("👩‍🚀🏳️‍🌈", 20),
	}
}

// TestHeartbeatIsCheap calls every tool in every kind of state: the heartbeat at the end of its answer costs at
// most 40 tokens.
func TestHeartbeatIsCheap(t *testing.T) {
	t.Parallel()
	count := counter(t)
	worst := ""
	most := 0
	configured := [][]string{nil, {verbs.Planning, verbs.Loop}, {verbs.Planning}, {verbs.Loop}}
	for _, toolsets := range configured[:testenv.Count(1, len(configured), len(configured))] {
		for script, title := range longTitles() {
			for _, kind := range kindsOfState() {
				for _, row := range verbs.Table() {
					var progress, next string
					synctest.Test(t, func(t *testing.T) { // some tools wait for an engine, which never answers here
						service := inState(t, kind, title)
						by := verbs.Caller{Actor: tester.Actor, Face: mcpserver.Tools{Toolsets: toolsets, User: terminal.CommandLine{}}}
						progress, next = heartbeat(t, service, by, row)
					})
					n := count(progress) + count(next)
					if n > most {
						most, worst = n, progress+" "+next
					}
					if n > 40 {
						t.Errorf("%v, %s, %s, %s: the heartbeat costs %d tokens: %s %s", toolsets, script, kind.name, row.Name, n,
							progress, next)
					}
				}
			}
		}
	}
	t.Logf("the dearest costs %d tokens: %s", most, worst)
}

// heartbeat returns the end of a tool's answer: the fields of the structured content, or the next action of an
// error.
func heartbeat(t *testing.T, service *verbs.Service, by verbs.Caller, row verbs.Row) (progress, next string) {
	t.Helper()
	arguments := strings.ReplaceAll(row.Example, `{"wait":30}`, `{}`)
	reply, err := row.Call(t.Context(), service, by, []byte(arguments))
	if _, ok := errors.AsType[*plan.ValidationError](err); ok {
		next, err := service.NextAction(t.Context(), by)
		testenv.Check(t, err)
		return "", next.For(by)
	}
	testenv.Check(t, err)
	data, err := json.Marshal(reply)
	testenv.Check(t, err)
	var told struct {
		Progress any    `json:"progress"`
		Next     string `json:"next_action"`
	}
	testenv.Check(t, json.Unmarshal(data, &told))
	if told.Next == "" || !strings.HasSuffix(reply.Text(), "\nNext: "+told.Next) {
		t.Errorf("%s does not end with the next action: %s\n%s", row.Name, data, reply.Text())
	}
	progress, _ = told.Progress.(string) // in planning_read_plan it is part of the page
	return progress, told.Next
}
