package main

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/planloop/planloop/gates"
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
