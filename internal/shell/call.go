package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// call is a command with its arguments.
type call struct {
	name  string
	words []word
}

// text returns the arguments that are known, for messages.
func (c call) first() string {
	if len(c.words) == 0 {
		return ""
	}
	return c.words[0].text
}

func (j *judge) call(c *syntax.CallExpr) *refusal {
	words, r := j.words(c.Args)
	if r != nil {
		return r
	}
	for _, a := range c.Assigns {
		if len(words) > 0 && words[0].is("read") && a.Name != nil && a.Name.Value == "IFS" && a.Index == nil && a.Array == nil && !a.Append {
			if r := j.parts(valueParts(a)); r != nil {
				return r
			}
			continue
		}
		if r := j.assign(a, len(words) > 0); r != nil {
			return r
		}
	}
	if len(words) == 0 {
		return nil
	}
	return j.run(words)
}

func valueParts(a *syntax.Assign) []syntax.WordPart {
	if a.Value == nil {
		return nil
	}
	return a.Value.Parts
}

// run judges a command by its name and its arguments. Wrappers come back here
// with what they run.
func (j *judge) run(words []word) *refusal {
	j.depth++
	defer func() { j.depth-- }()
	if j.depth > maxNesting {
		return refuse("the command is nested too deeply; split it")
	}
	if !words[0].whole || !words[0].one() {
		return refuse("the command to run is not known before it runs; name it")
	}
	name := words[0].text
	for _, folder := range []string{"/bin/", "/usr/bin/"} {
		if base, ok := strings.CutPrefix(name, folder); ok {
			name = base
			break
		}
	}
	if strings.Contains(name, "/") {
		return refuse("%s is a program of its own; only commands known by name are allowed", shown(name))
	}
	known, ok := j.commands[name]
	if !ok {
		return unknown(name, words)
	}
	return known.judge(j, call{name: name, words: words[1:]})
}

// unknown refuses a command that is not on the list.
func unknown(name string, words []word) *refusal {
	if len(words) == 2 && versioned(name, words[1]) {
		return nil
	}
	if why, ok := refused()[name]; ok {
		return refuse("%s %s", name, why.reason).or(why.instead)
	}
	return refuse("%s is not known to only read", shown(name))
}

// versioned reports whether a command only asks a known program for its version.
func versioned(name string, option word) bool {
	if !option.is("--version") && !option.is("-V") && !option.is("-v") && !option.is("-version") {
		return false
	}
	switch name {
	case "python", "python3", "node", "npm", "perl", "ruby", "make", "bash", "zsh", "gcc", "g++", "cc", "clang", "cmake", "ninja", "java", "javac",
		"docker", "curl", "wget", "gh", "pip", "pip3", "tsc", "deno", "bun", "php", "lua", "ghc", "dotnet", "terraform", "kubectl", "helm",
		"psql", "sqlite3", "vim", "nano", "ssh", "rsync", "tmux", "ffmpeg", "cargo", "rustc":
	default:
		return false
	}
	switch option.text {
	case "--version":
		return true
	case "-version":
		return name == "java" || name == "javac"
	case "-V":
		return name == "python" || name == "python3" || name == "ssh" || name == "curl" || name == "pip" || name == "pip3" || name == "cargo" || name == "rustc"
	case "-v":
		return name == "node" || name == "npm" || name == "perl" || name == "ruby" || name == "php" || name == "gcc" || name == "tsc" || name == "make" && false
	}
	return false
}

// shown is a name for a message.
func shown(name string) string {
	if len(name) > 40 {
		return name[:40] + "…"
	}
	return name
}
