package downstream_test

import (
	"os"
	"testing"

	"github.com/planloop/planloop/internal/downstream"
	"github.com/planloop/planloop/internal/process"
)

// TestWhatAServerLeavesEndsWithIt: a process in a session of its own, whose parent is gone.
func TestWhatAServerLeavesEndsWithIt(t *testing.T) {
	s := started(t, downstream.Config{"ours": own(behaviour{})}, func(o *downstream.Options) {
		o.Launcher = &process.Launcher{Program: "/proc/self/exe"}
	})
	left, err := refreshed(t, s)["ours__leave"].Invoke(within(t), nil, downstream.Handlers{})
	if err != nil {
		t.Fatal(err)
	}
	if !runs(t, left.Text()) {
		t.Fatal("it does not run")
	}
	if err := s.Close(); err != nil || runs(t, left.Text()) {
		t.Errorf("%v, or it runs", err)
	}
	missing := started(t, downstream.Config{"ours": {Command: "/no/such/program"}}, func(o *downstream.Options) {
		o.Launcher = &process.Launcher{Program: "/proc/self/exe"}
		o.Getenv = os.Getenv
	})
	if refreshed(t, missing); missing.Status()[0].State != downstream.Failed {
		t.Errorf("%+v", missing.Status())
	}
}
