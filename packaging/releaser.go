package main

import (
	"bytes"
	"slices"
	"strings"
	"text/template"
)

// releaser returns GoReleaser's configuration. Its delimiters differ from GoReleaser's, so that GoReleaser's templates stay.
func releaser(wanted []platform) string {
	var targets []string
	for _, p := range wanted {
		targets = append(targets, p.system+"_"+p.processor)
	}
	var b bytes.Buffer
	form := template.Must(template.New("goreleaser.yaml").Delims("[[", "]]").Parse(string(text("goreleaser.yaml"))))
	err := form.Execute(&b, map[string]any{
		"Name": name, "Owner": owner, "Homepage": homepage, "License": license, "Registry": registry,
		"Description": `"` + description + `"`, "LinkerFlags": linkerFlags("{{ .Version }}"),
		"BuildFlags": buildFlags(), "Platforms": targets,
		"Windows":   slices.ContainsFunc(wanted, func(p platform) bool { return p.system == "windows" }),
		"Documents": []string{"LICENSE", "README.md", "CHANGELOG.md"},
	})
	if err != nil {
		panic("packaging: " + err.Error())
	}
	return strings.TrimLeft(b.String(), "\n")
}
