package main

import "slices"

// npmPackages are the package that people name, whose program is a few lines that start
// the right one, and one for each platform with the program itself, of which npm installs
// the one that fits. The programs come in when they are built.
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
			{"preferUnplugged", true}, // a program cannot be started from within an archive
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
