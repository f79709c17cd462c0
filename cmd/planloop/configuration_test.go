package main

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/internal/agents"
	"github.com/planloop/planloop/internal/llm"
	"github.com/planloop/planloop/internal/workspace"
)

// configurationHelp is the help on the configuration.
func configurationHelp() string { return withGates(textsByPath()["configuration"]) }

// keyLine is a key with its values, in the part of the help that lists keys.
var keyLine = regexp.MustCompile(`(?m)^  ([a-z_]+): (.+)\n      `)

func documentedKeys() (names []string, values map[string]string) {
	keys, _, _ := strings.Cut(configurationHelp(), "\nGates, ")
	values = map[string]string{}
	for _, found := range keyLine.FindAllStringSubmatch(keys, -1) {
		names = append(names, found[1])
		values[found[1]] = found[2]
	}
	return names, values
}

// The help on the configuration names every key there is, and none besides.
func TestConfigurationHelpIsWhole(t *testing.T) {
	if named, _ := documentedKeys(); !slices.Equal(named, workspace.Keys()) {
		t.Errorf("the keys are %q, the help names %q", workspace.Keys(), named)
	}
	text := configurationHelp()
	for _, gate := range gates.Names() {
		if !strings.Contains(text, "\n  "+gate+": ") {
			t.Errorf("the gate %s is not named", gate)
		}
	}
	for _, known := range []string{workspace.Variable("gates"), workspace.FileName, llm.DefaultBaseURL, llm.DefaultAPIKeyEnv} {
		if !strings.Contains(text, known) {
			t.Errorf("%s is not named", known)
		}
	}
	for field := range reflect.TypeFor[llm.Config]().Fields() {
		if key := field.Tag.Get("yaml"); !strings.Contains(text, "\n    "+key+": ") {
			t.Errorf("the key %s of model is not named", key)
		}
	}
}

// What the help shows can be pasted.
func TestConfigurationHelpCanBePasted(t *testing.T) {
	var file strings.Builder
	_, modelExample, _ := strings.Cut(configurationHelp(), "\nA model, in your own file:\n\n")
	for line := range strings.SplitSeq(modelExample+"\n  gates: {verifiable: error, oversize: \"off\"}", "\n") {
		file.WriteString(strings.TrimPrefix(line, "  ") + "\n")
	}
	home := t.TempDir()
	place := filepath.Join(home, "planloop", "config.yaml")
	if err := os.Mkdir(filepath.Dir(place), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(place, []byte(file.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	getenv := func(name string) string { return map[string]string{"XDG_CONFIG_HOME": home}[name] }
	config, warnings, err := workspace.Load(workspace.Sources{Getenv: getenv, Gates: gates.Names()})
	if err != nil || len(warnings) > 0 {
		t.Fatalf("%v, %v", err, warnings)
	}
	var model llm.Config
	if err := config.Model.Decode(&model); err != nil {
		t.Fatal(err)
	}
	if err := model.Validate(); err != nil {
		t.Error(err)
	}
}

// What the documentation shows of agents can be pasted.
func TestAgentsOfTheDocumentationCanBePasted(t *testing.T) {
	text, err := os.ReadFile("../../docs/running.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(text), "```yaml\nagents:")
	example, _, _ = strings.Cut(example, "```")
	home := t.TempDir()
	place := filepath.Join(home, "planloop", "config.yaml")
	if err := errors.Join(os.Mkdir(filepath.Dir(place), 0o700), os.WriteFile(place, []byte("agents:"+example), 0o600)); err != nil {
		t.Fatal(err)
	}
	getenv := func(name string) string { return map[string]string{"XDG_CONFIG_HOME": home}[name] }
	config, warnings, err := workspace.Load(workspace.Sources{Getenv: getenv, Account: t.TempDir()})
	if err != nil || len(warnings) > 0 {
		t.Fatalf("%v, %v", err, warnings)
	}
	var shown agents.Config
	if err := config.Agents.Decode(&shown); err != nil {
		t.Fatal(err)
	}
	started, err := agents.New(shown, agents.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"default", "codex", "opencode", "gemini"} {
		if got, ok := started.For(name); got != name || !ok || len(shown[name].Command) < 2 {
			t.Errorf("%s: %q, %q", name, got, shown[name].Command)
		}
	}
	if started.Starts("gemini") != 20 || shown["gemini"].Timeout != 30*time.Minute {
		t.Errorf("%+v", shown["gemini"])
	}
}

// Defaults stand first.
func TestConfigurationHelpKnowsTheDefaults(t *testing.T) {
	d := workspace.Defaults()
	for key, want := range map[string]string{
		"strategy": string(d.Strategy), "gates": string(d.Gates.Profile), "text": string(d.Text), "completion": string(d.Completion),
		"approval": string(d.Approval), "agents_file": d.AgentsFile,
	} {
		if _, values := documentedKeys(); !strings.HasPrefix(values[key], want) {
			t.Errorf("%s: the default is %s", key, want)
		}
	}
}
