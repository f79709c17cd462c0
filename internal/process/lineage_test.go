package process

import "testing"

// TestOpenerThatHides: a process that hides its program may have made up its name. It opens no terminal, unless an administrator's process
// started it, as sshd does.
func TestOpenerThatHides(t *testing.T) {
	lineage := func(claims bool) Lineage {
		return Lineage{Leader: 9, Top: 1, Chain: []Ancestor{{PID: 10, Name: "planloop"}, {PID: 9, Name: "bash"},
			{PID: 8, Name: "sshd", claims: claims}, {PID: 7, Name: "sshd"}}}
	}
	if p, ok := lineage(false).Opener(); !ok || p.PID != 8 {
		t.Errorf("sshd: %+v, %t", p, ok)
	}
	if p, ok := lineage(true).Opener(); ok {
		t.Errorf("a program that calls itself sshd: %+v", p)
	}
}

// TestOwnLineage asks the system itself.
func TestOwnLineage(t *testing.T) {
	chain := Ancestors()
	if len(chain) == 0 {
		t.Skip("this system does not tell of processes")
	}
	if l := LineageOf(chain); !l.IsWhole() || l.Hidden.PID != 0 || l.InOwnSpace || l.Chain[0] != chain[0] {
		t.Errorf("%+v", l)
	}
	if l := LineageOf(nil); l.IsWhole() {
		t.Errorf("without any process: %+v", l)
	}
}

// BenchmarkLineage is what a command at a terminal adds to BenchmarkChain.
func BenchmarkLineage(b *testing.B) {
	chain := Ancestors()
	for b.Loop() {
		LineageOf(chain)
	}
}
