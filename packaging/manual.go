package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

// command is a command as `planloop help --json` describes it.
type command struct {
	Command, Usage, Does, Details string
	Examples                      []string
	Flags                         []struct {
		Name, Short, Value, Does, Default string
		Global                            bool
	}
}

func manual(ctx context.Context, program string) (files, error) {
	described, err := exec.CommandContext(ctx, program, "help", "--json").Output()
	if err != nil {
		return nil, fmt.Errorf("%s help --json: %w", program, err)
	}
	var all struct{ Commands []command }
	if err := json.Unmarshal(described, &all, json.MatchCaseInsensitiveNames(true)); err != nil {
		return nil, fmt.Errorf("%s help --json: %w", program, err)
	}
	made := files{}
	for path, page := range pages(all.Commands) {
		if made[path+".gz"], err = compressed(page); err != nil {
			return nil, err
		}
	}
	for shell, file := range map[string]string{"bash": "bash", "zsh": "zsh", "fish": "fish", "powershell": "ps1"} {
		script, err := exec.CommandContext(ctx, program, "completion", shell).Output()
		if err != nil {
			return nil, fmt.Errorf("%s completion %s: %w", program, shell, err)
		}
		made["completions/planloop."+file] = script
	}
	return made, nil
}

// compressed returns text in gzip's format without a time, so that the bytes are reproducible.
func compressed(text string) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		_, err = w.Write([]byte(text))
	}
	if err == nil {
		err = w.Close()
	}
	return b.Bytes(), err
}

// pages returns the man pages: one for the program with all its commands, and one for each topic.
func pages(commands []command) map[string]string {
	made := map[string]string{}
	page := newPage(name, "1", commands[0])
	page.heading("SYNOPSIS")
	page.line(".B planloop")
	page.line(".I command")
	page.line("[flags]")
	page.heading("DESCRIPTION")
	page.text(commands[0].Details)
	page.heading("OPTIONS")
	page.line("Every command takes these:")
	page.flags(commands[0])
	page.heading("COMMANDS")
	for _, c := range commands[1:] {
		switch {
		case c.Usage != "":
			page.line(".SS " + quoted(c.Usage))
			page.line(escaped(c.Does) + ".")
			page.text(c.Details)
			page.flags(c)
			page.examples(c)
		case c.Details != "":
			topic := newPage(strings.ReplaceAll(c.Command, " ", "-"), "5", c)
			topic.heading("DESCRIPTION")
			topic.text(c.Details)
			topic.heading("SEE ALSO")
			topic.line(".BR planloop (1)")
			made["man/"+strings.ReplaceAll(c.Command, " ", "-")+".5"] = topic.String()
		}
	}
	page.heading("EXAMPLES")
	page.examples(commands[0])
	if len(made) > 0 {
		page.heading("SEE ALSO")
		for _, topic := range slices.Sorted(maps.Keys(made)) {
			page.line(".BR " + strings.TrimSuffix(strings.TrimPrefix(topic, "man/"), ".5") + " (5)")
		}
	}
	made["man/planloop.1"] = page.String()
	return made
}

type roff struct{ strings.Builder }

func newPage(title, section string, c command) *roff {
	page := &roff{}
	page.line(fmt.Sprintf(`.TH %s %s "" %s "User Commands"`, strings.ToUpper(title), section, quoted(name+" "+version)))
	page.heading("NAME")
	page.line(title + ` \- ` + escaped(c.Does))
	return page
}

func (r *roff) line(text string) { r.WriteString(text + "\n") }

func (r *roff) heading(text string) { r.line(".SH " + text) }

// text writes paragraphs. Indented lines keep their line breaks.
func (r *roff) text(text string) {
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		if strings.TrimSpace(paragraph) == "" {
			continue
		}
		r.line(".PP")
		verbatim := false
		for line := range strings.SplitSeq(strings.Trim(paragraph, "\n"), "\n") {
			if indented := strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t"); indented != verbatim {
				r.line(map[bool]string{true: ".EX", false: ".EE"}[indented])
				verbatim = indented
			}
			r.line(escaped(line))
		}
		if verbatim {
			r.line(".EE")
		}
	}
}

func (r *roff) flags(c command) {
	for _, f := range c.Flags {
		r.line(".TP")
		shown := `\fB\-\-` + escaped(f.Name) + `\fR`
		if f.Short != "" {
			shown = `\fB\-` + f.Short + `\fR, ` + shown
		}
		if f.Value != "" {
			shown += ` \fI` + escaped(f.Value) + `\fR`
		}
		r.line(shown)
		does := f.Does
		if f.Default != "" {
			does += " (default " + f.Default + ")"
		}
		r.line(escaped(does))
	}
}

func (r *roff) examples(c command) {
	r.line(".PP\n.EX")
	for _, example := range c.Examples {
		r.line("  " + escaped(example))
	}
	r.line(".EE")
}

// escaped returns text in a form that roff prints unchanged.
func escaped(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(text)
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	return text
}

// quoted returns text as one argument of a roff request.
func quoted(text string) string { return `"` + strings.ReplaceAll(escaped(text), `"`, `\(dq`) + `"` }
