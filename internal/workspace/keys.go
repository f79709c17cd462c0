package workspace

import (
	"slices"
	"strings"
	"time"
)

// key is one key of the configuration: how it is read, and what of it a
// workspace's own file may decide.
type key struct {
	name string
	set  func(*Config, value) error
	// admit judges what the workspace's file asks for against what holds
	// without it, and may amend it; it returns why it is not admitted. Nil: that
	// file may not set the key at all.
	admit func(holds Config, asked *Config) string
}

// keys lists all keys in the order of the documentation.
func keys() []key {
	return []key{
		{"toolsets", setToolsets, admitFewer},
		{"strategy", func(c *Config, v value) error { return setWord(v, &c.Strategy) }, anything},
		{"gates", func(c *Config, v value) error { return setGates(v, &c.Gates) }, admitGates},
		{"text", func(c *Config, v value) error { return setWord(v, &c.Text) }, anything},
		{"completion", func(c *Config, v value) error { return setWord(v, &c.Completion) }, admitCompletion},
		{"approval", func(c *Config, v value) error { return setWord(v, &c.Approval) }, admitApproval},
		{"approval_timeout", func(c *Config, v value) error { return setTimeout(v, &c.ApprovalTimeout) }, admitApprovalTimeout},
		{"gathering_timeout", func(c *Config, v value) error { return setTimeout(v, &c.GatheringTimeout) }, admitGatheringTimeout},
		{"max_replans", func(c *Config, v value) error { return setNumber(v, &c.MaxReplans, 1, 100) }, anything},
		{"parallel", func(c *Config, v value) error { return setNumber(v, &c.Parallel, 1, 64) }, anything},
		{"lease", func(c *Config, v value) error { return setLease(v, &c.Lease) }, anything},
		{"agents_file", setAgentsFile, anything},
		{"servers", func(c *Config, v value) error { return setSection(v, &c.Servers) }, nil},
		{"model", func(c *Config, v value) error { return setSection(v, &c.Model) }, nil},
		{"notify", func(c *Config, v value) error { return setSection(v, &c.Notify) }, nil},
		{"hooks", func(c *Config, v value) error { return setSection(v, &c.Hooks) }, nil},
		{"store", func(c *Config, v value) error { return setSection(v, &c.Store) }, nil},
	}
}

// Keys lists the names of all keys in the order of the documentation.
func Keys() []string {
	all := keys()
	names := make([]string, len(all))
	for i, k := range all {
		names[i] = k.name
	}
	return names
}

// Variable returns the environment variable that sets a key.
func Variable(key string) string { return "PLANLOOP_" + strings.ToUpper(key) }

func anything(Config, *Config) string { return "" }

func admitFewer(holds Config, asked *Config) string {
	for _, name := range asked.Toolsets {
		if !slices.Contains(holds.Toolsets, name) {
			return "it adds the toolset " + string(name) + ", and a workspace's own file may only take some away"
		}
	}
	return ""
}

func admitGates(holds Config, asked *Config) string {
	merged, why := holds.Gates.tightened(asked.Gates)
	if why != "" {
		return "it " + why + ", and a workspace's own file may only make gates stricter"
	}
	asked.Gates = merged
	return ""
}

func admitCompletion(holds Config, asked *Config) string {
	return admitStricter(holds.Completion, asked.Completion)
}

func admitApproval(holds Config, asked *Config) string {
	return admitStricter(holds.Approval, asked.Approval)
}

func admitStricter[T vocabulary](holds, asked T) string {
	if rank(asked) < rank(holds) {
		return string(asked) + " is looser than " + string(holds) + ", and a workspace's own file may only make it stricter"
	}
	return ""
}

func admitApprovalTimeout(holds Config, asked *Config) string {
	return admitLonger(holds.ApprovalTimeout, asked.ApprovalTimeout)
}

func admitGatheringTimeout(holds Config, asked *Config) string {
	return admitLonger(holds.GatheringTimeout, asked.GatheringTimeout)
}

// admitLonger: when the time is over planning mode ends by itself, and with it
// the read-only phase, without anybody's approval. The longer time is the
// stricter one; a repository that could set a second would open the phase.
func admitLonger(holds, asked time.Duration) string {
	if asked == 0 || holds != 0 && asked >= holds {
		return ""
	}
	than := holds.String()
	if holds == 0 {
		than = "never"
	}
	return asked.String() + " ends the read-only phase sooner than " + than + ", and a workspace's own file may only make it stricter"
}
