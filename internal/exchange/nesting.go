package exchange

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/plan"
)

// maxNesting bounds how deep a document is nested: as deep as the arguments of a
// step may be, and what is around them.
const maxNesting = maxArgsNesting + 8

// checkJSON checks that data is one JSON value in valid UTF-8 without duplicate
// keys, nested at most so many levels deep. It returns what is wrong with it, and
// where.
func checkJSON(data []byte, deepest int) (pointer, problem string) {
	in := jsontext.NewDecoder(bytes.NewReader(data))
	for values := 0; ; {
		_, err := in.ReadToken()
		switch {
		case errors.Is(err, io.EOF) && values == 1:
			return "", ""
		case err != nil:
			return syntaxProblem(data, err)
		case values == 1:
			return "", "has more after the JSON value"
		case in.StackDepth() > deepest:
			return shortPointer(string(in.StackPointer())), fmt.Sprintf("is nested more than %d levels deep", deepest)
		case in.StackDepth() == 0:
			values++
		}
	}
}

func syntaxProblem(data []byte, err error) (pointer, problem string) {
	var syntax *jsontext.SyntacticError
	if !errors.As(err, &syntax) {
		return "", "is no JSON: it ends too early"
	}
	at := min(max(int(syntax.ByteOffset), 0), len(data))
	line := 1 + bytes.Count(data[:at], []byte("\n"))
	return shortPointer(string(syntax.JSONPointer)), fmt.Sprintf("is not valid JSON in line %d: %s", line, plan.Shorten(syntax.Err.Error(), 120))
}

// shortPointer bounds a pointer whose keys come from the text.
func shortPointer(pointer string) string { return plan.Shorten(pointer, 200) }
