package scan

import (
	"path"
	"strings"
)

// language is what a file is written in, as far as reading it here depends on it.
type language struct {
	name     string // "" is none that is known
	comments syntax
	family   family // how its exported code and its tests are told
}

// family groups the languages whose exported code is looked for.
type family int

const (
	noFamily family = iota
	goFamily
	pythonFamily
	scriptFamily // TypeScript and JavaScript
	markdownFamily
)

// languageOf tells the language of a file from its name alone.
func languageOf(name string) language {
	base := path.Base(name)
	switch {
	case base == "Makefile" || base == "GNUmakefile" || strings.HasPrefix(base, "Dockerfile") || base == "Justfile" || base == "justfile":
		return language{name: "Build script", comments: shell()}
	case strings.HasSuffix(base, ".d.ts"):
		return language{name: "TypeScript", comments: script()}
	}
	return languageOfExtension(strings.ToLower(path.Ext(base)))
}

func languageOfExtension(extension string) language {
	switch extension {
	case ".go":
		return language{"Go", curly(), goFamily}
	case ".py", ".pyi":
		return language{"Python", python(), pythonFamily}
	case ".ts", ".tsx", ".mts", ".cts":
		return language{"TypeScript", script(), scriptFamily}
	case ".js", ".jsx", ".mjs", ".cjs":
		return language{"JavaScript", script(), scriptFamily}
	case ".md", ".markdown", ".mdx":
		return language{"Markdown", markup(), markdownFamily}
	}
	if l := curlyLanguage(extension); l != "" {
		return language{name: l, comments: curly()}
	}
	return otherLanguage(extension)
}

// curlyLanguage names the languages that share the comments and strings of C.
func curlyLanguage(extension string) string {
	switch extension {
	case ".c", ".h":
		return "C"
	case ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx":
		return "C++"
	case ".java":
		return "Java"
	case ".kt", ".kts":
		return "Kotlin"
	case ".rs":
		return "Rust"
	case ".swift":
		return "Swift"
	case ".cs":
		return "C#"
	case ".scala", ".sbt":
		return "Scala"
	case ".dart":
		return "Dart"
	case ".groovy", ".gradle":
		return "Groovy"
	case ".m", ".mm":
		return "Objective-C"
	case ".proto":
		return "Protocol Buffers"
	case ".zig":
		return "Zig"
	}
	return ""
}

func otherLanguage(extension string) language {
	switch extension {
	case ".rb", ".rake", ".gemspec":
		return language{name: "Ruby", comments: shell()}
	case ".sh", ".bash", ".zsh", ".fish":
		return language{name: "Shell", comments: shell()}
	case ".pl", ".pm":
		return language{name: "Perl", comments: shell()}
	case ".r":
		return language{name: "R", comments: shell()}
	case ".ex", ".exs":
		return language{name: "Elixir", comments: shell()}
	case ".yaml", ".yml":
		return language{name: "YAML", comments: shell()}
	case ".toml":
		return language{name: "TOML", comments: shell()}
	case ".mk", ".cmake":
		return language{name: "Build script", comments: shell()}
	case ".tf", ".hcl":
		return language{name: "HCL", comments: syntax{line: []string{"#", "//"}, block: c(), spaced: true, quotes: `"`}}
	case ".php":
		return language{name: "PHP", comments: syntax{line: []string{"//", "#"}, block: c(), quotes: `"'`}}
	case ".css", ".scss", ".less":
		return language{name: "CSS", comments: syntax{line: scssLine(extension), block: c(), quotes: `"'`, spaced: true}}
	case ".html", ".htm", ".xml", ".svg":
		return language{name: "HTML", comments: markup()}
	case ".vue", ".svelte":
		return language{name: "Component", comments: syntax{line: []string{"//"}, block: append(c(), delimiters{"<!--", "-->"}), spaced: true}}
	case ".sql":
		return language{name: "SQL", comments: syntax{line: []string{"--"}, block: c(), quotes: `"'`}}
	case ".lua":
		return language{name: "Lua", comments: syntax{line: []string{"--"}, block: []delimiters{{"--[[", "]]"}}, quotes: `"'`}}
	case ".hs", ".elm":
		return language{name: "Haskell", comments: syntax{line: []string{"--"}, block: []delimiters{{"{-", "-}"}}, quotes: `"`}}
	case ".el", ".lisp", ".clj", ".cljs", ".scm", ".rkt":
		return language{name: "Lisp", comments: syntax{line: []string{";"}, quotes: `"`}}
	case ".asm", ".s", ".ini":
		return language{name: "Assembly or INI", comments: syntax{line: []string{";"}, quotes: `"`}}
	case ".tex", ".erl":
		return language{name: "TeX or Erlang", comments: syntax{line: []string{"%"}, spaced: true}}
	}
	return language{}
}

func scssLine(extension string) []string {
	if extension == ".css" {
		return nil
	}
	return []string{"//"}
}

func c() []delimiters { return []delimiters{{"/*", "*/"}} }

func curly() syntax {
	return syntax{line: []string{"//"}, block: c(), quotes: `"`, long: []string{"`", `"""`}, characters: true}
}

func script() syntax {
	return syntax{line: []string{"//"}, block: c(), quotes: `"'`, long: []string{"`"}, longEscapes: true, patterns: true}
}

func python() syntax {
	return syntax{line: []string{"#"}, quotes: `"'`, long: []string{`"""`, "'''"}, longEscapes: true}
}

func shell() syntax {
	return syntax{line: []string{"#"}, quotes: `"'`, spaced: true, wordly: true}
}

func markup() syntax { return syntax{block: []delimiters{{"<!--", "-->"}}} }
