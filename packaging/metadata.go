package main

import (
	"embed"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/internal/build"
)

// Facts about planloop that every package repeats.
const (
	name        = "planloop"
	version     = build.Version
	owner       = "planloop"
	homepage    = "https://github.com/planloop/planloop"
	license     = "Apache-2.0"
	description = "Keeps the plan an agent works by: on disk, checked, approved by a person" // at most 100 characters
	registry    = "io.github.planloop/planloop"                                              // its name in the registry of MCP servers

	details = "planloop keeps the plan an LLM agent works by, outside the conversation: it survives compaction, restarts and " +
		"a change of agent. A bad plan is refused with a fix for each fault, a failing test stops the work until it is fixed, and in " +
		"planning mode an agent may only read and ask until a person has approved its plan. No service, no account, no telemetry."

	// until the first release
	installing = "Install it: run `go install ./cmd/planloop` in a clone of " + homepage + ", then start a new session."
)

func keywords() []string {
	return []string{"mcp", "agents", "planning", "tasks", "approval", "hooks"}
}

type platform struct{ system, processor, npmSystem, npmProcessor string } // in Go's names and in npm's

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

// npmPackages returns the package that users install, whose script starts the program, and one for each platform, to which bundle
// adds the program. npm installs the one that fits.
func npmPackages(version string) files {
	repository := object{{"type", "git"}, {"url", "git+" + homepage + ".git"}}
	f := files{name + "/bin/planloop.js": text("planloop.js"), name + "/README.md": text("npm.md")}
	var optional object
	for _, p := range platforms() {
		own := "@" + owner + "/" + p.npm()
		optional = append(optional, member{own, version})
		f.put(p.npm()+"/package.json", object{
			{"name", own}, {"version", version}, {"description", "The program of planloop for " + p.npm()},
			{"homepage", homepage}, {"repository", repository}, {"license", license},
			{"os", []string{p.npmSystem}}, {"cpu", []string{p.npmProcessor}}, {"files", []string{"bin", "LICENSE", licencesFile}},
			{"preferUnplugged", true}, // a program inside an archive cannot be started
		})
	}
	f.put(name+"/package.json", object{
		{"name", name}, {"version", version}, {"description", description}, {"keywords", slices.Concat(keywords(), []string{"cli"})},
		{"homepage", homepage}, {"bugs", homepage + "/issues"}, {"repository", repository}, {"license", license},
		{"mcpName", registry}, {"bin", object{{name, "bin/planloop.js"}}}, {"files", []string{"bin", "LICENSE"}},
		{"engines", object{{"node", ">=18"}}}, {"optionalDependencies", optional},
	})
	return f
}

// serverEntry tells the registry of MCP servers how clients get planloop. A release adds its bundles with their digests.
func serverEntry(version string, bundles []object) object {
	stdio := object{{"type", "stdio"}}
	npm := object{{"registryType", "npm"}, {"registryBaseUrl", "https://registry.npmjs.org"}, {"identifier", name}, {"version", version},
		{"runtimeHint", "npx"}, {"transport", stdio}, {"packageArguments", []object{{{"type", "positional"}, {"value", "serve"}}}}}
	return object{
		{"$schema", "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"},
		{"name", registry}, {"title", name}, {"description", description}, {"version", version}, {"websiteUrl", homepage},
		{"repository", object{{"url", homepage}, {"source", "github"}}},
		{"packages", slices.Concat([]object{npm}, bundles)},
	}
}

//go:embed texts
var texts embed.FS

type files map[string][]byte // by their paths in the repository or the output folder

type object = []member // with its members in order

type member struct {
	key   string
	value any
}

func (f files) put(path string, o object) { f[path] = []byte(jsonText(o)) }

func (f files) under(folder string, more files) {
	for path, text := range more {
		f[folder+"/"+path] = text
	}
}

func generate() files {
	all := files{}
	all.under("packaging/claude", claudePlugin())
	all.under("packaging/codex", codexPlugin())
	all.under("packaging/agent-plugin", agentPlugin())
	all.under("packaging/npm", npmPackages(version))
	maps.Copy(all, marketplaces())
	all["packaging/server.json"] = []byte(jsonText(serverEntry(version, nil)))
	all["packaging/goreleaser.yaml"] = []byte(goreleaserConfig(platforms()))
	all["packaging/Dockerfile"] = text("Dockerfile")
	return all
}

func text(name string) []byte {
	data, err := texts.ReadFile("texts/" + name)
	if err != nil {
		panic("packaging: " + err.Error()) // a programming error that every run would hit
	}
	return data
}

// jsonText returns indented JSON with the members of objects in order.
func jsonText(value any) string {
	ordered := json.MarshalToFunc(func(enc *jsontext.Encoder, o object) error {
		err := enc.WriteToken(jsontext.BeginObject)
		for _, m := range o {
			err = errors.Join(err, enc.WriteToken(jsontext.String(m.key)), json.MarshalEncode(enc, m.value))
		}
		return errors.Join(err, enc.WriteToken(jsontext.EndObject))
	})
	data, err := json.Marshal(value, json.WithMarshalers(ordered), jsontext.WithIndent("  "))
	if err != nil {
		panic(fmt.Sprintf("packaging: %v", err)) // the values are constants of this program
	}
	return string(data) + "\n"
}
