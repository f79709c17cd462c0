package template

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/planloop/planloop/internal/spelling"
	"github.com/planloop/planloop/internal/strict"
	"github.com/planloop/planloop/plan"
)

// Parameter is what a template asks for.
type Parameter struct {
	Name        string          `json:"-"`
	Type        Type            `json:"type,omitempty"` // "": a string
	Description string          `json:"description,omitempty"`
	Choices     []string        `json:"choices,omitempty"`
	Default     json.RawMessage `json:"default,omitempty"`
	Required    *bool           `json:"required,omitempty"` // nil: unless it has a default

	paths bool // it is used as one
}

// Type says what a parameter may be.
type Type string

// The types.
const (
	String  Type = "string" // text on one line
	Integer Type = "integer"
	Number  Type = "number"
	Boolean Type = "boolean"
	Path    Type = "path"    // within the workspace
	List    Type = "list"    // of texts
	Choice  Type = "choice"  // one of a few words
	Command Type = "command" // the one type that a step's verify takes
)

// Values lists the types in order.
func (Type) Values() []string {
	return []string{"string", "integer", "number", "boolean", "path", "list", "choice", "command"}
}

// Needed reports whether a value has to be given.
func (p Parameter) Needed() bool {
	if p.Required != nil {
		return *p.Required
	}
	return len(p.Default) == 0
}

// Wanted says in a few words what to give: "a path" or "a string: what is wrong".
func (p Parameter) Wanted() string {
	text := "a " + string(p.Type)
	switch p.Type {
	case Integer:
		text = "an integer"
	case Choice:
		text = "one of " + strings.Join(p.Choices, ", ")
	}
	if p.Description != "" {
		text += ": " + plan.Shorten(p.Description, 120)
	}
	return text
}

// nameable is what a parameter may be called.
var nameable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9_-]{0,39}$`) })

// check refuses a declaration that contradicts itself, and completes it.
func (p *Parameter) check(origin Origin) error {
	var faults plan.Faults
	at := "/parameters/" + p.Name
	refuse := func(below, problem, fix string) { faults.Add(plan.Refuse(plan.InvalidInput, at+below, problem, fix)) }
	if !nameable().MatchString(p.Name) {
		refuse("", plan.Quote(p.Name)+" is no name of a parameter", "use lower-case letters, digits, _ and -")
	}
	if p.Type == "" {
		p.Type = String
	}
	var err error
	p.Description, err = plan.Text{Field: at + "/description", Max: plan.MaxHint}.Clean(p.Description)
	faults.Add(err)
	p.Choices, err = plan.CleanLines(at+"/choices", p.Choices, plan.MaxHint)
	faults.Add(err)
	if some := len(p.Choices) > 0; some != (p.Type == Choice) {
		refuse("/choices", "are what the type choice has, and no other", "give both or neither")
	}
	switch {
	case len(p.Default) == 0:
	case p.Needed():
		refuse("/required", "is said of a parameter that has a default", "leave out one of them")
	case p.Type == Command && origin == Workspace:
		refuse("/default", "is given for a command in a template of the workspace", "leave it out: a command is for the caller to name")
	}
	return faults.Err()
}

// value is what a parameter is given.
type value struct {
	text string          // as prose has it
	list []string        // the entries of a list
	json json.RawMessage // as arguments have it; nil where nothing was given
}

// values reads what was given, and tells of everything that is wrong with it.
func (t *Template) values(given map[string]json.RawMessage) (map[string]value, error) {
	var faults plan.Faults
	names := make([]string, len(t.Parameters))
	values := map[string]value{}
	for i, p := range t.Parameters {
		names[i] = p.Name
		v, problem, fix := p.read(given[p.Name])
		switch {
		case problem != "":
		case v.json != nil:
		case p.Needed():
			problem, fix = "is missing", "give "+p.Wanted()
		case len(p.Default) > 0:
			v, problem, fix = p.read(p.Default)
		}
		if problem != "" {
			faults.Add(plan.Refuse(plan.InvalidInput, "/parameters/"+p.Name, problem, fix))
		}
		values[p.Name] = v
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(names, name) {
			faults.Add(plan.Refuse(plan.InvalidInput, "/parameters/"+plan.Shorten(name, 60), "is no parameter of the template",
				unknown(name, names)))
		}
	}
	return values, faults.Err()
}

func unknown(name string, names []string) string {
	if near := spelling.Nearest(name, names); near != "" {
		return "did you mean " + near + "?"
	}
	if len(names) == 0 {
		return "it takes none"
	}
	return "it takes " + strings.Join(names, ", ")
}

// read reads a value, as JSON or as text; blank text is none. problem is "" where it fits.
func (p Parameter) read(raw json.RawMessage) (v value, problem, fix string) {
	texts, single, ok := textsOf(raw)
	if !ok {
		return value{}, "is not what it takes", "give " + p.Wanted()
	}
	if p.Type == List {
		if single && len(texts) == 1 {
			texts = strings.Split(texts[0], ",")
		}
		return p.list(texts)
	}
	switch {
	case len(texts) == 0 || single && strings.TrimSpace(texts[0]) == "":
		return value{}, "", ""
	case !single:
		return value{}, "is a list", "give " + p.Wanted()
	}
	return p.one(texts[0])
}

// textsOf returns the texts of a value: one, or those of a list. Numbers and truth values are
// as they are written. It reports false for anything else.
func textsOf(raw json.RawMessage) (texts []string, single, ok bool) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, true, true
	}
	switch raw[0] {
	case '{':
		return nil, false, false
	case '[':
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) != nil {
			return nil, false, false
		}
		for _, entry := range list {
			text, single, ok := textsOf(entry)
			if !ok || !single || len(text) != 1 {
				return nil, false, false
			}
			texts = append(texts, text[0])
		}
		return texts, false, true
	case '"':
		var text string
		if json.Unmarshal(raw, &text) != nil {
			return nil, false, false
		}
		if strings.HasPrefix(strings.TrimSpace(text), "[") { // a list in a string
			if texts, single, ok := textsOf(json.RawMessage(strings.TrimSpace(text))); ok {
				return texts, single, ok
			}
		}
		return []string{text}, true, true
	}
	return []string{string(raw)}, true, json.Valid(raw)
}

// one reads a value of a type that is no list.
func (p Parameter) one(text string) (v value, problem, fix string) {
	text, problem, fix = p.cleaned(text)
	if problem != "" {
		return value{}, problem, fix
	}
	v = value{text: text}
	switch p.Type {
	case Integer:
		_, err := strconv.ParseInt(text, 10, 53)
		return p.literal(text, err == nil)
	case Number:
		return p.literal(text, json.Valid([]byte(text)) && strings.Trim(text, "+-.0123456789eE") == "")
	case Boolean:
		text, known := map[string]string{"true": "true", "yes": "true", "false": "false", "no": "false"}[strings.ToLower(text)]
		return p.literal(text, known)
	case Choice:
		if !slices.Contains(p.Choices, text) {
			return value{}, plan.Quote(text) + " is not known", "give " + p.Wanted()
		}
	}
	v.json = literal(text)
	return v, "", ""
}

// literal is a value that JSON writes without quotes.
func (p Parameter) literal(text string, fits bool) (v value, problem, fix string) {
	if !fits {
		return value{}, "is not what it takes", "give " + p.Wanted()
	}
	return value{text: text, json: json.RawMessage(text)}, "", ""
}

// cleaned returns a text by the rules for texts of a plan.
func (p Parameter) cleaned(text string) (clean, problem, fix string) {
	rule := plan.Text{Max: plan.MaxLongLine}
	if p.paths || p.Type == Path {
		rule.Max = plan.MaxPath
	}
	clean, err := rule.Clean(text)
	if wrong, ok := err.(*plan.ValidationError); ok {
		return "", wrong.Problem, wrong.Fix
	}
	if strict.Placeholder(clean, p.Name) {
		return "", plan.Quote(clean) + " is a placeholder", "give the text itself"
	}
	if fault := plan.PathProblem(clean); (p.paths || p.Type == Path) && fault != plan.PathWithin {
		return "", plan.Quote(clean) + " " + string(fault), "give a path relative to the workspace, with /"
	}
	return clean, "", ""
}

func (p Parameter) list(texts []string) (v value, problem, fix string) {
	if len(texts) > plan.MaxList {
		return value{}, fmt.Sprintf("has %d entries", len(texts)), fmt.Sprintf("give at most %d", plan.MaxList)
	}
	for _, text := range texts {
		text, problem, fix := p.cleaned(text)
		if problem != "" {
			return value{}, problem, fix
		}
		if text != "" {
			v.list = append(v.list, text)
		}
	}
	if v.list == nil {
		return value{}, "", ""
	}
	v.text = strings.Join(v.list, ", ")
	v.json = literals(v.list)
	return v, "", ""
}

// literal is a text as arguments have it: one that could be read as a reference is kept from it.
func literal(text string) json.RawMessage {
	if strings.HasPrefix(text, "$") {
		text = "$" + text
	}
	data, _ := json.Marshal(text) // a text that is clean can be written
	return data
}

func literals(texts []string) json.RawMessage {
	all := make([]json.RawMessage, len(texts))
	for i, text := range texts {
		all[i] = literal(text)
	}
	data, _ := json.Marshal(all)
	return data
}
