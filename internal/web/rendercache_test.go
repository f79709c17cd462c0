package web

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// submitLarge submits a plan with a view of some megabytes.
func (f *fixture) submitLarge(workspace string) {
	f.t.Helper()
	var steps []verbs.SubmittedStep
	for i := range 2000 {
		title, details := fmt.Sprintf("Step %d", i), strings.Repeat("x", 1900)
		steps = append(steps, verbs.SubmittedStep{TaskFields: verbs.TaskFields{Title: &title, Details: &details}})
	}
	_, err := f.workspaces.sheets[workspace].Service.SubmitPlan(context.Background(),
		verbs.Caller{Actor: plan.NewActor(plan.ChannelMCP, "ann")},
		verbs.SubmitPlan{Summary: "Move them.", Steps: steps})
	if err != nil {
		f.t.Fatal(err)
	}
}

// TestSlowReadersHoldOneAnswer: many clients request a large view and do not read it.
func TestSlowReadersHoldOneAnswer(t *testing.T) {
	f := serve(t, nil)
	f.submitLarge("w1")
	b := f.launch()
	size := int64(len(b.get("/api/view?workspace=w1").body))
	request := "GET /api/view?workspace=w1 HTTP/1.1\r\nHost: " + f.host + "\r\nCookie: " + b.cookie.Name + "=" + b.cookie.Value +
		"\r\nPlanloop-Key: " + b.key + "\r\n\r\n"
	before := heapInUse()
	for range 30 {
		conn, err := net.Dial("tcp", f.host)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(conn, make([]byte, len("HTTP/1.1 200"))); err != nil {
			t.Fatal(err)
		}
	}
	if got := heapInUse() - before; got > 10*size {
		t.Errorf("30 that do not read an answer of %d bytes hold %d", size, got)
	}
	if v := b.view("w1"); len(v.Draft.Plan.Steps) != 2000 || !v.Can.Code || v.Now.IsZero() {
		t.Errorf("what is shared lacks what is of each: %+v", v.Can)
	}
}

// TestRenderedOnceForAllWhoWait: each request gets a rendering begun after it, with as few renderings as that takes.
func TestRenderedOnceForAllWhoWait(t *testing.T) {
	s := newRenderCache()
	begun, goOn := make(chan int), make(chan struct{})
	count := 0 // one at a time
	render := func(context.Context) (any, error) {
		count++
		n := count
		begun <- n
		<-goOn
		return n, nil
	}
	var got sync.Map
	var asking sync.WaitGroup
	ask := func(who int) {
		asking.Go(func() {
			b, err := s.get(t.Context(), "it", render)
			if err != nil {
				t.Error(err)
				return
			}
			got.Store(who, string(b.text))
			s.release(b)
		})
	}
	ask(0)
	next(t, begun)
	for who := range 50 { // while the first is rendered: it may lack later changes, so they must not get it
		ask(1 + who)
	}
	eventually(t, "all 50 wait", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.latest["it"] != nil && s.latest["it"].waiting == 50
	})
	goOn <- struct{}{}
	next(t, begun)
	goOn <- struct{}{}
	asking.Wait()
	for who := range 51 {
		if text, _ := got.Load(who); text != map[bool]string{true: "1", false: "2"}[who == 0] {
			t.Errorf("%d got %v", who, text)
		}
	}
	if count != 2 || s.size != 0 || len(s.bodies)+len(s.latest) != 0 {
		t.Errorf("rendered %d times; left: %+v", count, s)
	}
}

// TestAnswersThatAreReadAreBounded: an answer beyond the bound is refused until another was read, unless it is alone.
func TestAnswersThatAreReadAreBounded(t *testing.T) {
	s := newRenderCache()
	give := func(key string, size int) (*body, error) {
		return s.get(t.Context(), key, func(context.Context) (any, error) { return strings.Repeat(key, size), nil })
	}
	large, err := give("a", maxHeldBytes+1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := give("b", 10); refusalOf(err).Kind != busy {
		t.Errorf("%v", err)
	}
	again, err := give("a", maxHeldBytes+1)
	if err != nil || again != large {
		t.Errorf("the same is not shared: %v", err)
	}
	s.release(large)
	s.release(again)
	if _, err := give("b", 10); err != nil {
		t.Error(err)
	}
	if _, err := s.get(t.Context(), "c", func(context.Context) (any, error) { return nil, io.EOF }); err != io.EOF {
		t.Error(err)
	}
	func() {
		defer func() { _ = recover() }()
		_, _ = s.get(t.Context(), "d", func(context.Context) (any, error) { panic("at the workspaces") })
	}()
	if len(s.latest)+len(s.places) != 0 {
		t.Errorf("left: %+v", s)
	}
}
