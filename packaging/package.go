package main

import "github.com/planloop/planloop/internal/build"

// Facts about planloop that every package repeats.
const (
	name        = "planloop"
	version     = build.Version
	owner       = "planloop"
	homepage    = "https://github.com/planloop/planloop"
	module      = "github.com/planloop/planloop"
	license     = "Apache-2.0"
	description = "Keeps the plan an agent works by: on disk, checked, approved by a person" // at most 100 characters
	registry    = "io.github.planloop/planloop"                                              // its name in the registry of MCP servers

	details = "planloop keeps the plan an LLM agent works by, outside the conversation: it survives compaction, restarts and " +
		"a change of agent. A bad plan is refused with what to fix, a failing test stops the work until it is mended, and in " +
		"planning mode an agent may only read and ask until a person has approved its plan. No service, no account, no telemetry."
)

func keywords() []string {
	return []string{"mcp", "agents", "planning", "tasks", "approval", "hooks"}
}

// platform is a system that planloop is built for, in Go's names and in npm's.
type platform struct{ system, processor, npmSystem, npmProcessor string }

func platforms() []platform {
	var all []platform
	for _, system := range [][2]string{{"linux", "linux"}, {"darwin", "darwin"}, {"windows", "win32"}} {
		for _, processor := range [][2]string{{"amd64", "x64"}, {"arm64", "arm64"}} {
			all = append(all, platform{system[0], processor[0], system[1], processor[1]})
		}
	}
	return all
}

// String returns the platform in the form that -platform takes.
func (p platform) String() string { return p.system + "/" + p.processor }

// npm returns the platform's part of the names of packages and bundles.
func (p platform) npm() string { return p.npmSystem + "-" + p.npmProcessor }

// program returns the file name of planloop on the platform.
func (p platform) program() string {
	if p.system == "windows" {
		return name + ".exe"
	}
	return name
}

// buildFlags and linkerFlags return the flags of every released program.
func buildFlags() []string { return []string{"-trimpath", "-buildvcs=auto"} }

func linkerFlags(version string) string {
	return "-s -w -X github.com/planloop/planloop/internal/cli.released=" + version
}
