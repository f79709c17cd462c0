package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// variable is what holds of every value a script gives to a name, wherever it
// does so: the order is not looked at.
type variable struct {
	number bool // an integer
	plain  bool // one word, without patterns, that begins no option
	tame   bool // begins neither an option nor an expression, nor a device
	file   bool // is no device: what a pattern finds, or a path that is known
}

// variables are the names a script assigns.
type variables map[string]*variable

func (v variables) number(name string) bool { return v[name] != nil && v[name].number }
func (v variables) plain(name string) bool  { return v[name] != nil && v[name].plain }
func (v variables) tame(name string) bool   { return v[name] != nil && v[name].tame }
func (v variables) file(name string) bool   { return v[name] != nil && v[name].file }

// countsOnly reports whether a parameter of bash itself is always a number.
func countsOnly(name string) bool {
	switch name {
	case "#", "?", "$", "RANDOM", "SECONDS", "LINENO", "EPOCHSECONDS", "UID", "EUID", "PPID":
		return true
	}
	return false
}

var (
	integer   = pattern(`^[+-]?(0|[1-9][0-9]{0,17})$`)
	plainText = pattern(`^[A-Za-z0-9_./@%][A-Za-z0-9_./@%:+=,-]*$`)
	// plainRevision begins no option, and holds no pattern that bash would expand.
	plainRevision = pattern(`^[A-Za-z0-9_./@][A-Za-z0-9_./@^~-]*$`)
	listRange     = pattern(`^\{(0|[1-9][0-9]{0,5})\.\.(0|[1-9][0-9]{0,5})\}$`)
)

// variablesOf collects what a script assigns.
func variablesOf(file *syntax.File) variables {
	v := variables{}
	syntax.Walk(file, func(node syntax.Node) bool {
		switch node := node.(type) {
		case *syntax.Assign:
			v.assign(node)
		case *syntax.ForClause:
			v.loop(node)
		case *syntax.CallExpr:
			v.builtin(node)
		case *syntax.BinaryArithm:
			if assigns(node.Op) {
				v.calculated(node.X)
			}
		case *syntax.UnaryArithm:
			if node.Op == syntax.Inc || node.Op == syntax.Dec {
				v.calculated(node.X)
			}
		}
		return true
	})
	return v
}

// set notes that a name may have a further value.
func (v variables) set(name string, value variable) {
	known := v[name]
	if known == nil {
		v[name] = &value
		return
	}
	known.number = known.number && value.number
	known.plain = known.plain && value.plain
	known.tame = known.tame && value.tame
	known.file = known.file && value.file
}

func (v variables) assign(a *syntax.Assign) {
	if a.Name == nil {
		return
	}
	if a.Append || a.Index != nil || a.Naked || a.Array != nil {
		v.set(a.Name.Value, variable{})
		return
	}
	v.set(a.Name.Value, valueOf(a.Value, false))
}

func (v variables) loop(f *syntax.ForClause) {
	loop, ok := f.Loop.(*syntax.WordIter)
	if !ok || loop.Name == nil {
		return
	}
	if !loop.InPos.IsValid() {
		v.set(loop.Name.Value, variable{})
	}
	for _, item := range loop.Items {
		if listRange().MatchString(item.Lit()) {
			v.set(loop.Name.Value, variable{number: true, plain: true, tame: true})
			continue
		}
		v.set(loop.Name.Value, valueOf(item, true))
	}
}

// builtin notes the names that read fills, however read is reached.
func (v variables) builtin(c *syntax.CallExpr) {
	reads := false
	for _, arg := range c.Args {
		if reads && syntax.ValidName(arg.Lit()) {
			v.set(arg.Lit(), variable{})
		}
		reads = reads || arg.Lit() == "read"
	}
}

// calculated notes a name that an expression assigns: to a number.
func (v variables) calculated(x syntax.ArithmExpr) {
	if w, ok := x.(*syntax.Word); ok && syntax.ValidName(w.Lit()) {
		v.set(w.Lit(), variable{number: true})
	}
}

// valueOf judges a value by its literal text.
func valueOf(node *syntax.Word, list bool) variable {
	if node == nil {
		return variable{plain: false, tame: true} // empty
	}
	if len(node.Parts) == 1 {
		switch part := node.Parts[0].(type) {
		case *syntax.ArithmExp:
			return variable{number: true}
		case *syntax.CmdSubst:
			return variable{number: numeric(part)}
		}
	}
	bare := &judge{}
	w := bare.word(node)
	beginning := w.text != "" && plainText().MatchString(w.text[:1]) && !strings.HasPrefix(w.text, "/dev")
	lit := node.Lit()
	found := list && w.several && !w.splits && lit != "" && lit[0] != '/' && !strings.ContainsAny(lit, "{\\")
	if !w.whole || w.several && !list || w.splits {
		return variable{tame: beginning && !w.splits, file: found}
	}
	return variable{
		number: integer().MatchString(w.text),
		plain:  beginning && plainText().MatchString(w.text),
		tame:   beginning,
		file:   beginning,
	}
}

// numeric reports whether a substitution can only print an integer.
func numeric(c *syntax.CmdSubst) bool {
	if len(c.Stmts) != 1 {
		return false
	}
	stmt := c.Stmts[0]
	for {
		binary, ok := stmt.Cmd.(*syntax.BinaryCmd)
		if !ok || binary.Op != syntax.Pipe {
			break
		}
		stmt = binary.Y
	}
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) < 2 || len(call.Assigns) > 0 {
		return false
	}
	name, second := call.Args[0].Lit(), call.Args[1].Lit()
	switch {
	case name == "wc" && len(call.Args) == 2:
		return second == "-l" || second == "-c" || second == "-w" || second == "-m"
	case name == "date" && len(call.Args) == 2:
		return second == "+%s"
	}
	return false
}

// harmless reports whether a script may give a value to the name: one that no
// shell and no program takes for more than a value.
func harmless(name string) bool {
	if !syntax.ValidName(name) {
		return false
	}
	switch name { // names that are special to some shell although they are small
	case "path", "cdpath", "fpath", "manpath", "mailpath", "module_path", "fignore", "prompt", "watch", "argv", "status", "pipestatus",
		"functions", "aliases", "galiases", "saliases", "commands", "options", "modules", "builtins", "reswords", "parameters", "nameddirs",
		"userdirs", "histchars", "psvar", "precmd", "preexec", "chpwd", "signals", "zle_bracketed_paste", "terminfo", "termcap", "_",
		"http_proxy", "https_proxy", "all_proxy", "ftp_proxy", "no_proxy":
		return false
	}
	upper := strings.ToUpper(name)
	if name != upper {
		return !strings.HasPrefix(name, "npm_config_") && !strings.HasPrefix(upper, "BASH_FUNC")
	}
	for _, exact := range strings.Fields(`IFS ENV HOME PWD OLDPWD VISUAL CC CXX LD AR AS CPP TAPE UID EUID PPID SECONDS RANDOM SRANDOM LINENO
		COLUMNS LINES POSIXLY_CORRECT TERM TZ LANG LANGUAGE USER LOGNAME GROUPS DIRSTACK PIPESTATUS FCEDIT TIMEFORMAT TIMEFMT NULLCMD READNULLCMD
		IGNOREEOF INPUTRC KEYTIMEOUT SAVEHIST SHLVL BROWSER DISPLAY MAKE MAKELEVEL REPLY DIRENV_DIR BASHOPTS DEBUGINFOD_URLS EPOCHSECONDS EPOCHREALTIME`) {
		if name == exact {
			return false
		}
	}
	for _, prefix := range strings.Fields(`LD_ DYLD_ GIT_ GO BASH SHELL PS PROMPT LESS MORE PYTHON PERL RUBY NODE NPM_ JAVA _JAVA JDK_ RUST CARGO AWK GAWK
		TAR_ GREP_ RIPGREP_ FZF_ JQ_ XDG_ TMP TEMP TERM MALLOC GLIBC GCONV LOC NLS SSH MAIL OPT HIST FUNC EXEC COMP MAPFILE LC_ PLANLOOP GCC COMPILER
		ZDOTDIR ZSH KSH PAGER EDITOR XZ_ GZIP ZSTD BZIP BAT_ FD_ EZA_ EXA_ DELTA_ CLOC ACK_ AG_ SYSTEMD_ MANP`) {
		if strings.HasPrefix(name, prefix) {
			return false
		}
	}
	for _, suffix := range strings.Fields("PATH PAGER EDITOR OPTS OPTIONS FLAGS CONFIG CONF _RC RCFILE PROXY PRELOAD COMMAND CMD_ENV SHELL") {
		if strings.HasSuffix(name, suffix) {
			return false
		}
	}
	return true
}

// environment reports whether a command may be given name=value to run with.
func environment(name, value string) bool {
	plain := plainText().MatchString(value) || value == ""
	switch {
	case strings.HasPrefix(name, "LC_"), name == "LANG":
		return plain && !strings.Contains(value, "/")
	case name == "TZ":
		return plain && value != "" && value[0] != '/' && !strings.Contains(value, "..")
	case name == "COLUMNS", name == "LINES":
		return integer().MatchString(value)
	case name == "TERM":
		return plain && !strings.ContainsAny(value, "/.")
	case name == "GIT_PAGER", name == "PAGER", name == "MANPAGER":
		return value == "cat" || value == ""
	case name == "GIT_OPTIONAL_LOCKS":
		return value == "0"
	case name == "NO_COLOR", name == "CLICOLOR", name == "FORCE_COLOR":
		return plain
	}
	return false
}
