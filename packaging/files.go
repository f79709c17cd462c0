package main

import (
	"embed"
	"errors"
	"fmt"
	"maps"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

//go:embed texts
var texts embed.FS

// files are the packages' files by their paths in the repository or the output folder.
type files map[string][]byte

// object is a JSON object with its members in order.
type object = []member

type member struct {
	key   string
	value any
}

// put adds a JSON file.
func (f files) put(path string, o object) { f[path] = []byte(jsonText(o)) }

// under puts files below a folder.
func (f files) under(folder string, more files) {
	for path, text := range more {
		f[folder+"/"+path] = text
	}
}

// generate makes all committed files.
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

// text returns an embedded file.
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
