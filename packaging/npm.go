package main

import (
	"slices"
)

// npmPackages returns the package that users install, and one for each platform with the program
// itself. npm installs the one that fits, and a short script in the first package starts it.
// bundle adds the programs.
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
			{"os", []string{p.npmSystem}}, {"cpu", []string{p.npmProcessor}}, {"files", []string{"bin", "LICENSE"}},
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

// serverEntry tells the registry of MCP servers how clients get planloop. A release adds its
// bundles with their digests.
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
