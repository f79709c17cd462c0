package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/plan"
)

// People see the last line a few times a second for any amount of output, and the final line at the end.
func TestPeopleAreToldTheLastLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		s := &secrets{}
		s.add("topsecret99")
		o := newAgentOutput(AgentAssignment{Nonce: testNonce, Line: func(line string) { told = append(told, line) }}, s)
		out, errs := o.stream(), o.stream()
		ctx, cancel := context.WithCancel(t.Context())
		go o.showLines(ctx)
		for i := range 3000 { // for three seconds
			_, _ = fmt.Fprintf(out, "line %d\n\n", i)
			time.Sleep(time.Millisecond)
		}
		_, _ = fmt.Fprint(errs, "the key is topsecret99 ", strings.Repeat("x", 500))
		cancel()
		synctest.Wait()
		o.close()
		if len(told) < 10 || len(told) > 13 || told[0] != "line 249" && told[0] != "line 250" {
			t.Errorf("%d: %q", len(told), told)
		}
		if last := told[len(told)-1]; !strings.HasPrefix(last, "the key is [hidden] xxx") || len([]rune(last)) != maxShown {
			t.Errorf("%q", last)
		}
	})
}

// Parts of a line, or of a secret, are joined despite output on the other stream.
func TestStreamsAreApart(t *testing.T) {
	var log strings.Builder
	s := &secrets{}
	s.add("topsecret99")
	o := newAgentOutput(AgentAssignment{Nonce: testNonce, Log: &log}, s)
	out, errs := o.stream(), o.stream()
	for i := range len(good) {
		_, _ = out.Write([]byte(good[i : i+1]))
		_, _ = errs.Write([]byte("topsecret99"[i%11 : i%11+1]))
		if reported := o.report != nil; reported != (i == len(good)-1) {
			t.Fatalf("%d: %t", i, reported)
		}
	}
	_, _ = errs.Write([]byte("\n" + strings.Replace(good, `"x"`, `"topsecret99"`, 1) + "\n"))
	_, _ = out.Write([]byte("\n"))
	o.close()
	if strings.Contains(log.String(), "topsecret99") || strings.Count(log.String(), "[hidden]") < 8 {
		t.Error(log.String())
	}
	if o.report.Output != "x" { // that line ended last
		t.Errorf("%+v", o.report)
	}
}

// A report is found for any division into writes.
func TestReportsAcrossWrites(t *testing.T) {
	outputs := spellings(t)
	names := slices.Sorted(maps.Keys(outputs))
	rapidtest.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(names).Draw(t, "spelling")
		o := newAgentOutput(AgentAssignment{Nonce: testNonce}, &secrets{})
		out := o.stream()
		for rest := outputs[name]; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "write")
			_, _ = out.Write([]byte(rest[:n]))
			rest = rest[n:]
		}
		o.close()
		if r := o.report; r == nil || r.Status != plan.Done || r.Output != "x" || r.Note != "y" {
			t.Fatalf("%s: %+v", name, r)
		}
	})
}

func TestSecretsOfReports(t *testing.T) {
	s := &secrets{}
	s.add("planloop") // a word of the report format
	s.add("topsecret99")
	o := newAgentOutput(AgentAssignment{Nonce: testNonce}, s)
	_, _ = o.stream().Write([]byte(`{"planloop":"K7QM4TZN","status":"done","output":"a topsecret99","affected_files":["topsecret99"],` +
		`"note":"planloop"}`))
	o.close()
	if r := o.report; r == nil || r.Output != "a [hidden]" || r.Note != "[hidden]" || r.AffectedFiles[0] != "[hidden]" {
		t.Errorf("%+v", r)
	}
}
