package main

import "slices"

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
