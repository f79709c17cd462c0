package shell_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// generator makes commands from the classifier's tables, in the ways in which text becomes words in bash. Many would write
// or run something if the classifier let them pass; the sandbox detects that.
type generator struct {
	*rand.Rand
	options  map[string][]string // by program, each with the mark of its value
	programs []string            // of options, sorted
	grammar  map[string][]string // of grammar.txt
	corpus   []string
}

func newGenerator(t testing.TB, seed uint64) *generator {
	t.Helper()
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1)), options: map[string][]string{}}
	g.readTable(t)
	g.readSources(t)
	for name := range g.options {
		g.programs = append(g.programs, name)
	}
	slices.Sort(g.programs)
	for _, name := range []string{"allowed.txt", "refused.txt"} {
		g.corpus = append(g.corpus, corpus(t, name)...)
	}
	g.readGrammar(t)
	return g
}

// readTable takes the options of options.txt. It parses as little of the table as it needs, because the classifier's own
// parser is under test.
func (g *generator) readTable(t testing.TB) {
	t.Helper()
	text, err := os.ReadFile("options.txt")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(string(text)) {
		switch {
		case strings.TrimSpace(line) == "", line[0] == '#', strings.HasPrefix(line, "  needs "):
		case line[0] == ' ':
			for _, name := range names {
				g.options[name] = append(g.options[name], strings.Fields(line)...)
			}
		default:
			list, how, _ := strings.Cut(line, ": ")
			_, base, _ := strings.Cut(strings.TrimSpace(how), " + ")
			names = strings.Split(list, ", ")
			for _, name := range names {
				g.options[name] = slices.Clone(g.options[base])
			}
		}
	}
	if len(g.options) < 100 || len(g.options["sort"]) < 30 {
		t.Fatalf("options.txt has %d programs: its form is not known any more", len(g.options))
	}
}

// readSources takes the programs and options named in the classifier's code.
func (g *generator) readSources(t testing.TB) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	key := regexp.MustCompile("\"([a-z][a-z0-9_.-]*)\": *[a-z{]")
	list := regexp.MustCompile("(?s)options\\(`([^`]*)`")
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		keys := key.FindAllStringSubmatchIndex(string(text), -1)
		for i, at := range keys {
			name, end := string(text[at[2]:at[3]]), len(text)
			if i+1 < len(keys) {
				end = keys[i+1][0]
			}
			if file == "git.go" {
				name = "git " + name
			}
			if found := list.FindSubmatch(text[at[0]:end]); found != nil {
				g.options[name] = append(g.options[name], strings.Fields(string(found[1]))...)
			} else if _, known := g.options[name]; !known {
				g.options[name] = nil
			}
		}
	}
	if _, known := g.options["git submodule"]; !known {
		t.Fatal("git.go has no rule for git submodule: the commands of git are in another file, or their form is not known any more")
	}
	for _, alias := range [][2]string{{"gawk", "awk"}, {"mawk", "awk"}, {"gsed", "sed"}, {"fdfind", "fd"}, {"batcat", "bat"},
		{"bsdtar", "tar"}, {"git show", "git log"}, {"git diff-tree", "git diff"}, {"git diff-index", "git diff"}, {"git diff-files",
			"git diff"},
		{"git reflog", "git log"}, {"git whatchanged", "git log"}, {"git stash list", "git log"}, {"bzip2", "gzip"}, {"xz", "gzip"},
		{"zstd", "gzip"}, {"gunzip", "gzip"}, {"zcat", "gzip"}, {"unxz", "gzip"}, {"[", "test"}} {
		g.options[alias[0]] = append(g.options[alias[0]], g.options[alias[1]]...)
	}
}

// readGrammar takes the rules of grammar.txt.
func (g *generator) readGrammar(t testing.TB) {
	t.Helper()
	text, err := os.ReadFile("testdata/grammar.txt")
	if err != nil {
		t.Fatal(err)
	}
	g.grammar = map[string][]string{}
	rule := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if production, ok := strings.CutPrefix(line, "  "); ok {
			g.grammar[rule] = append(g.grammar[rule], strings.ReplaceAll(production, "␤", "\n"))
		} else if line != "" && line[0] != '#' {
			rule = strings.TrimSuffix(line, ":")
		}
	}
}

func (g *generator) pick(list []string) string { return list[g.IntN(len(list))] }

func (g *generator) often(percent int) bool { return g.IntN(100) < percent }

// scope tells rules written in Go the program they are expanded for.
type scope struct {
	program string
	depth   int
}

var nonterminal = regexp.MustCompile(`<[a-z][a-z ]*>`)

func (g *generator) command() string { return g.expand("<command>", &scope{}) }

// expand replaces the rules that a text names.
func (g *generator) expand(text string, s *scope) string {
	return nonterminal.ReplaceAllStringFunc(text, func(name string) string {
		rule := name[1 : len(name)-1]
		if s.depth++; s.depth > 60 {
			return "x"
		}
		switch rule {
		case "simple":
			return g.simple(g.pick(g.programs))
		case "other": // a command of git, without the name
			for {
				if name, ok := strings.CutPrefix(g.pick(g.programs), "git "); ok {
					return strings.TrimPrefix(g.simple("git "+name), "git ")
				}
			}
		case "word":
			return g.pick(g.programs)
		case "option":
			return g.option(s.program, s)
		case "quoted":
			return g.quoted(g.expand("<text>", s))
		case "operand":
			return g.operand(s)
		case "mutated":
			return g.mutated()
		}
		if productions, ok := g.grammar[rule]; ok {
			return g.expand(g.pick(productions), s)
		}
		return name
	})
}

// simple is a program with a few options and operands.
func (g *generator) simple(program string) string {
	s := &scope{program: program}
	words := []string{program}
	switch g.IntN(40) {
	case 0:
		words[0] = "/usr/bin/" + program
	case 1:
		words[0] = g.quoted(program)
	case 2:
		words[0] = g.expand("<assignment> ", s) + program
	}
	for range g.IntN(4) {
		words = append(words, g.option(program, s))
	}
	if g.often(10) {
		words = append(words, "--")
	}
	for range g.IntN(4) {
		words = append(words, g.operand(s))
		if g.often(10) {
			words = append(words, g.option(program, s))
		}
	}
	return strings.Join(words, " ")
}

// operand is a word after the options.
func (g *generator) operand(s *scope) string {
	switch n := g.IntN(20); {
	case n < 11:
		return g.expand("<file>", s)
	case n < 13:
		return g.expand("<quoted>", s)
	case n < 16:
		return g.expand("<expansion>", s)
	case n < 17:
		return "<(" + g.expand("<substitution>", s) + ")"
	case n < 18 && g.grammar[s.program+" script"] != nil:
		return g.expand("<"+s.program+" script>", s)
	}
	return g.expand("<plain operand>", s)
}

// option is an option of the program, of another program, or one known to do harm in some program.
func (g *generator) option(program string, s *scope) string {
	list := g.options[program]
	if len(list) == 0 || g.often(6) {
		list = g.options[g.pick(g.programs)]
	}
	if len(list) == 0 || g.often(12) {
		list = g.grammar["dangerous options"]
	}
	return g.given(g.pick(list), s)
}

// given is an option with its value, in one of the possible forms.
func (g *generator) given(option string, s *scope) string {
	if option == "-#" {
		return "-" + strconv.Itoa(g.IntN(30))
	}
	if name, values, ok := strings.Cut(option, "="); ok && g.often(80) {
		return name + "=" + g.pick(strings.Split(values, "|"))
	}
	name := strings.TrimRight(option, ":?~+")
	mark := option[len(name):]
	if strings.HasPrefix(name, "--") && len(name) > 5 && g.often(8) {
		name = name[:4+g.IntN(len(name)-4)] // an abbreviation
	}
	if mark == "" && !g.often(4) {
		switch {
		case len(name) == 2 && g.often(15):
			return name + string("nioxwelctI0vrs"[g.IntN(14)]) + g.pick([]string{"", "", "PWNED", "e"}) // a cluster
		case g.often(3):
			return g.quoted(name)
		}
		return name
	}
	value := g.expand("<value>", s)
	switch {
	case strings.HasPrefix(name, "--") && (mark == "?" || g.often(60)):
		return name + "=" + value
	case len(name) == 2 && (mark == "?" || g.often(40)):
		return name + value
	}
	return name + " " + value
}

// quoted is a text as one word, quoted in a random way.
func (g *generator) quoted(text string) string {
	single := "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	switch g.IntN(9) {
	case 0:
		return `"` + regexp.MustCompile("[\"\\\\$`]").ReplaceAllString(text, `\$0`) + `"`
	case 1:
		return regexp.MustCompile(`[^A-Za-z0-9]`).ReplaceAllString(text, `\$0`)
	case 2:
		return "$'" + g.escaped(text) + "'"
	case 3:
		if len(text) > 1 && !strings.ContainsAny(text, "'\"$`\\") {
			at := 1 + g.IntN(len(text)-1)
			return "'" + text[:at] + "'" + g.pick([]string{`""`, "''", "\\\n", ""}) + `"` + text[at:] + `"`
		}
	case 4:
		return text
	}
	return single
}

func (g *generator) escaped(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		switch g.IntN(4) {
		case 0:
			fmt.Fprintf(&b, `\x%x`, c)
		case 1:
			fmt.Fprintf(&b, `\%o`, c)
		case 2:
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteString(strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(string(c)))
		}
	}
	return b.String()
}

// mutated is a command of the corpus with a few changes.
func (g *generator) mutated() string {
	words := strings.Split(g.pick(g.corpus), " ")
	s := &scope{program: words[0]}
	for range 1 + g.IntN(3) {
		i := g.IntN(len(words))
		other := strings.Split(g.pick(g.corpus), " ")
		switch g.IntN(10) {
		case 0:
			words[i] = g.expand("<file>", s)
		case 1:
			words[i] = g.quoted(words[i])
		case 2:
			words[i] = g.expand("<expansion>", s)
		case 3:
			words = slices.Insert(words, i, g.option(words[0], s))
		case 4:
			words = slices.Insert(words, i, g.expand("<quoted>", s))
		case 5:
			if len(words) > 1 {
				words = slices.Delete(words, i, i+1)
			}
		case 6:
			words[i] = other[g.IntN(len(other))]
		case 7:
			words = append(words[:i:i], other[g.IntN(len(other)):]...)
		case 8: // through a variable
			words[0], words[i] = "v="+g.quoted(words[i])+"; "+words[0], g.pick([]string{"$v", `"$v"`, "${v}"})
		case 9:
			w := words[i]
			words[i] = g.pick([]string{`\` + w, w + "''", w + "*", w + "{,x}", "{" + w + ",x}", "--", w + "$x"})
		}
	}
	return strings.Join(words, " ")
}

// walk is the corpus, and every option of every program, a few times.
func (g *generator) walk() []string {
	list := slices.Clone(g.corpus)
	for _, name := range g.programs {
		for _, option := range g.options[name] {
			for range 3 {
				s := &scope{program: name}
				command := name + " " + g.given(option, s)
				for range g.IntN(3) {
					command += " " + g.operand(s)
				}
				list = append(list, command)
			}
		}
	}
	g.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// place returns the folder to run a command in, and whether to use a usual environment.
func (g *generator) place() (dir string, host bool) {
	host = g.often(50)
	root := "ws"
	if host {
		root = "plain"
	} else if g.often(5) {
		return "super", false
	}
	if g.often(30) {
		return root + "/h" + strconv.Itoa(g.IntN(24)), host
	}
	return root, host
}
