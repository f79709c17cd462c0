package planloop_test

import (
	"go/ast"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer"
)

// TestErrorsAreSafeForAgents: an error that a model reads has at most 60 tokens of our words, and never leads the model to delete, to force
// or to switch a check off. An act reserved for people is assigned to a person.
func TestErrorsAreSafeForAgents(t *testing.T) {
	dangerous := regexp.MustCompile(`(?i)\b(delete|purge|--?force|reset|re-?install|re-?initiali[sz]e|rm -|rmdir|turn(ed)? off|` +
		`switch(ed)? off|disable|bypass|no-verify|doctor --|init\b)`)
	forPeople := regexp.MustCompile("planloop (approve|reject|edit|answer|comment|doctor|init|purge|plan cancel|restore|step claim)")
	person := regexp.MustCompile(`(?i)\b(user|person|people)\b`)
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	for path, file := range sources(t) {
		if !readByModels(path) {
			continue
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if words := errorWords(node); len(words) > 0 {
				told++
				text := strings.Join(words, " ")
				switch {
				case slices.Contains(reviewedErrors(), text):
				case dangerous.MatchString(text) && !person.MatchString(text):
					t.Errorf("%s: an agent may act on this: %q", path, text)
				case forPeople.MatchString(text) && !person.MatchString(text):
					t.Errorf("%s: it is not said that this is for a person: %q", path, text)
				}
				if ids, _, err := codec.Encode(text); err != nil || len(ids) > 60 {
					t.Errorf("%s: %d tokens, %v: %q", path, len(ids), err, text)
				}
			}
			return true
		})
	}
	if told < 500 {
		t.Errorf("only %d errors were found: the test reads too little", told)
	}
}

// reviewedErrors lists errors with such words that are harmless.
func reviewedErrors() []string {
	return []string{
		"is disabled in the configuration", // about another server
	}
}

func readByModels(path string) bool {
	folder := filepath.ToSlash(filepath.Dir(path))
	return slices.ContainsFunc([]string{"plan", "gates", "mcpserver", "internal/verbs", "internal/toolbox", "internal/hook",
		"internal/shell", "internal/engine", "internal/strict", "internal/downstream",
		"internal/exchange",
		"internal/runnable", "internal/workspace"},
		func(read string) bool { return folder == read || strings.HasPrefix(folder, read+"/") })
}

// errorWords returns the words of the errors that a node creates, by a function call or a literal of an error type, without the filled-in
// values.
func errorWords(node ast.Node) []string {
	switch node := node.(type) {
	case *ast.CallExpr:
		name := ""
		switch function := node.Fun.(type) {
		case *ast.Ident:
			name = function.Name
		case *ast.SelectorExpr:
			name = function.Sel.Name
		}
		if slices.Contains([]string{"Refuse", "refuse", "conflict", "invalid", "refusal", "Errorf", "notFound"}, name) {
			return literals(node.Args...)
		}
	case *ast.CompositeLit:
		if name, ok := node.Type.(*ast.SelectorExpr); ok && name.Sel.Name == "ValidationError" {
			return literals(node.Elts...)
		}
		if name, ok := node.Type.(*ast.Ident); ok && strings.HasSuffix(name.Name, "Error") {
			return literals(node.Elts...)
		}
	}
	return nil
}

// literals returns the text literals in some expressions, except those inside calls.
func literals(in ...ast.Expr) []string {
	var texts []string
	for _, expression := range in {
		ast.Inspect(expression, func(node ast.Node) bool {
			if literal, ok := node.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				if text, err := strconv.Unquote(literal.Value); err == nil && !strings.HasPrefix(text, "/") {
					texts = append(texts, text)
				}
			}
			_, call := node.(*ast.CallExpr)
			return !call
		})
	}
	return texts
}
