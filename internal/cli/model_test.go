package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// scriptModel sets the answers of the program scriptedModel, one argument for each prompt:
//
//	answer FILE    the text of a file
//	say TEXT       that text
//	prose N        N bytes without any JSON
//	fail TEXT      exit code 1, with that text on standard error
//	hang           nothing, until it is killed
//
// The program keeps each prompt in requests/N.txt. Further prompts fail.
func scriptModel(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: model ANSWER...")
	}
	requests := ts.MkAbs("requests")
	ts.Check(os.RemoveAll(requests))
	ts.Check(os.MkdirAll(requests, 0o755))
	for i, arg := range args {
		kind, rest, _ := strings.Cut(arg, " ")
		switch kind {
		case "answer":
			arg = "say " + ts.ReadFile(rest)
		case "prose":
			length, err := strconv.Atoi(rest)
			ts.Check(err)
			const line = "I would rather tell you about my plans at length. "
			arg = "say " + strings.Repeat(line, length/len(line))
		}
		ts.Check(os.WriteFile(answerFile(requests, i+1), []byte(arg), 0o600))
	}
}

func answerFile(requests string, number int) string {
	return filepath.Join(requests, "answer-"+strconv.Itoa(number))
}

// scriptedModel is a model's program. Its argument is the folder of the answers.
func scriptedModel() {
	prompt, err := io.ReadAll(os.Stdin)
	number := 1
	for err == nil {
		var file *os.File
		file, err = os.OpenFile(filepath.Join(os.Args[1], strconv.Itoa(number)+".txt"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			_, err = file.Write(prompt)
			break
		}
		if os.IsExist(err) {
			number, err = number+1, nil
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	answer, _ := os.ReadFile(answerFile(os.Args[1], number))
	switch kind, rest, _ := strings.Cut(string(answer), " "); kind {
	case "say":
		fmt.Print(rest)
	case "hang":
		time.Sleep(time.Hour) // killed before that
	default:
		fmt.Fprintln(os.Stderr, rest)
		os.Exit(1)
	}
}

// expand writes a file with the variables of the script filled in: expand IN OUT.
func expand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: expand IN OUT")
	}
	out := ts.MkAbs(args[1])
	ts.Check(os.MkdirAll(filepath.Dir(out), 0o755))
	ts.Check(os.WriteFile(out, []byte(os.Expand(ts.ReadFile(args[0]), ts.Getenv)), 0o600))
}
