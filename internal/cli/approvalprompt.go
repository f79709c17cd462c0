package cli

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math/big"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/planloop/planloop/internal/history"
	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/mcpserver"
	"github.com/planloop/planloop/plan"
)

const maxAnswer = 1 << 10 // bytes of a typed answer

// readLine reads a line, "" if ctx ends first. Reading a terminal cannot be interrupted.
func readLine(ctx context.Context, in io.Reader) (string, error) {
	line, err := await(ctx, func() (string, error) { return bufio.NewReader(io.LimitReader(in, maxAnswer)).ReadString('\n') })
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, errAbandoned) {
		return "", fmt.Errorf("read the answer: %w", err)
	}
	return line, nil
}

// The words that settle undone edits.
const (
	wordRestore = "restore"
	wordAccept  = "accept"
)

const codeTries = 3 // allows for typos

// approvalPrompt is the plan or step that the terminal asks about.
type approvalPrompt struct {
	name      string   // plan, or the step's id
	lines     []string // its text, in lines
	amount    string   // its size
	digest    string
	codeless  bool   // the code was typed in this terminal within the hour: y approves
	undone    int    // number of a person's edits that the plan undoes: restore and accept are possible
	how       string // the other ways to decide, shown below the text
	edit      string // the prompt for the words after edit; "": edit is not possible
	undecided error  // the error if nothing was decided
	enter     string // the effect of Enter alone; "": it changes nothing
	onEnter   error  // the error if only Enter was typed; nil: left
}

// ttyScreen returns the screen of the user's terminal, wherever standard output goes.
func (a *app) ttyScreen() terminal.Screen {
	there := a.environment
	there.outIsTerminal = true
	return there.screen()
}

// askDecision returns approve, edit or reject, with the words after it. The code to approve comes below the text, to be seen first.
// Every call has a new code: a program that types into the terminal but cannot read it must not know what to type.
func (a *app) askDecision(ctx context.Context, tty io.ReadWriter, on approvalPrompt) (word, words string, err error) {
	n, _ := rand.Int(rand.Reader, big.NewInt(1_000_000)) // never fails
	code, s := fmt.Sprintf("%06d", n.Int64()), a.ttyScreen()
	rest, err := pages(ctx, tty, on, s.Rows())
	if err != nil {
		return "", "", err
	}
	enter, choices := cmp.Or(on.enter, "Enter alone: decide later."), "edit or reject with a comment"
	if on.edit == "" {
		choices = "reject"
	}
	if warning := a.sharedTerminal(); warning != "" {
		rest = append(rest, warning)
	}
	settle := ""
	if on.undone > 0 {
		choices = "restore, accept, " + choices
		settle = "\nYour undone edits: type restore to put them back, accept to let them go (one alone: restore 1)."
	}
	shown, how, prompt := "This is "+on.name+" "+history.ShortDigest(on.digest)+". ", on.how+settle, "\n> "
	wrong := "Wrong code. "
	if on.codeless {
		code, wrong, prompt = "y", "", "\nApprove "+on.title()+"? [y/N] "
		terminal.DropTyped(tty)
	} else {
		shown += fmt.Sprintf("To approve it, type %s and Enter.", s.Bold(code))
	}
	question := strings.Join(append(rest, strings.Repeat("-", 40), shown, how, enter), "\n") + prompt
	for range codeTries {
		if _, err := io.WriteString(tty, question); err != nil {
			return "", "", fmt.Errorf("write to the terminal: %w", err)
		}
		line, err := readLine(ctx, tty)
		if err != nil {
			return "", "", err
		}
		typed, whole := strings.CutSuffix(line, "\n")
		if !whole {
			_, _ = io.WriteString(tty, "\n") // Ctrl-D and Ctrl-C leave the line unfinished
		}
		first, words, _ := strings.Cut(strings.TrimSpace(typed), " ")
		answer := strings.ToLower(first)
		word = map[string]string{code: "approve", "reject": "reject", "edit": "edit", wordRestore: wordRestore,
			wordAccept: wordAccept}[answer]
		if word == "edit" && on.edit == "" || (word == wordRestore || word == wordAccept) && on.undone == 0 {
			word = ""
		}
		words = strings.TrimSpace(words)
		switch {
		case !whole:
			return "", "", on.undecided
		case first == "", on.codeless && (answer == "n" || answer == "no"):
			return "", "", cmp.Or(on.onEnter, on.undecided)
		case word == "edit" && words == "":
			question = on.edit + "\n> "
		case word != "":
			return word, words, nil
		default:
			question = fmt.Sprintf("%sType %s to approve %s, or %s. %s\n> ", wrong, s.Bold(code), on.title(), choices, enter)
		}
	}
	return "", "", on.undecided
}

func (on approvalPrompt) title() string {
	if on.name == "plan" || on.name == "list" {
		return "the " + on.name
	}
	return on.name
}

const commonRows = 24 // of a terminal that does not report its height

// pages shows a long text page by page and returns the lines left to show. If the height is unknown (0), nothing waits for a key.
func pages(ctx context.Context, tty io.ReadWriter, on approvalPrompt, rows int) ([]string, error) {
	lines, all, page := on.lines, len(on.lines), max(rows, commonRows)-5
	if all <= max(rows, commonRows) {
		return lines, nil
	}
	text := fmt.Sprintf("%s is long: %s on %d lines. The decision follows at the end.\n\n",
		strings.Replace(on.name, "plan", "This plan", 1), on.amount, all)
	for rows > 0 && len(lines) > page {
		text += strings.Join(lines[:page], "\n") + "\n"
		lines = lines[page:]
		word, err := askMore(ctx, tty, text, all-len(lines), all, on)
		if err != nil || word == "all" {
			return lines, err
		}
		text = ""
	}
	if _, err := io.WriteString(tty, text); err != nil {
		return nil, fmt.Errorf("write to the terminal: %w", err)
	}
	return lines, nil
}

// askMore writes a page and asks for the next one. It returns "all" or "". Another word, perhaps a decision about what is not shown yet,
// decides nothing.
func askMore(ctx context.Context, tty io.ReadWriter, text string, shown, all int, on approvalPrompt) (word string, err error) {
	for {
		text += fmt.Sprintf("-- %d of %d lines. Enter: more. all: the rest. quit: leave %s undecided.\n> ", shown, all, on.title())
		if _, err := io.WriteString(tty, text); err != nil {
			return "", fmt.Errorf("write to the terminal: %w", err)
		}
		typed, err := readLine(ctx, tty)
		switch word = strings.ToLower(strings.TrimSpace(typed)); {
		case err != nil:
			return "", err
		case !strings.HasSuffix(typed, "\n") || word == "quit" || word == "q":
			return "", on.undecided
		case word == "all" || word == "":
			return word, nil
		}
		text = "Nothing is decided yet: decide after the last line.\n"
	}
}

// approvalHour remembers for an hour that the shell of this terminal had the code of an approval typed. A nil *approvalHour remembers
// nothing. The file is sealed, so that only a program that reads the user's key can write an hour.
type approvalHour struct {
	path   string
	sealer *mcpserver.Sealer
	shell  trustedShell
	all    []trustedShell // in the file, without expired ones
}

// trustedShell is the shell in which a code was typed. A process keeps its terminal, and its pid and start are unique until a reboot.
type trustedShell struct {
	Space string           `json:"space"` // where the pid is valid
	Shell process.Ancestor `json:"shell"`
	Until time.Time        `json:"until"`
}

const (
	approvalHourName = "terminals" // also the purpose of the seal
	maxApprovalHours = 64 << 10    // bytes
	codeHolds        = time.Hour
)

// approvalHour returns nil if each approval needs a code: where only a person's own decision counts, on a shared terminal, and if planloop
// was not started by a shell of the same session.
func (a *app) approvalHour(ws *openWorkspace, state plan.State) *approvalHour {
	if ws.verbs.PersonOnly(state) || a.sharedTerminal() != "" || a.flags.ephemeral {
		return nil
	}
	return openApprovalHour(ws.place.StateHome(), a.lineage(), time.Now())
}

func openApprovalHour(home string, l process.Lineage, now time.Time) *approvalHour {
	if len(l.Chain) < 2 {
		return nil
	}
	self, shell := l.Chain[0], l.Chain[1]
	if !shell.Shell() || shell.Started == 0 || shell.Session != self.Session {
		return nil
	}
	sealer, err := mcpserver.OpenSealer(home)
	if err != nil {
		return nil
	}
	h := &approvalHour{path: filepath.Join(home, approvalHourName), sealer: sealer,
		shell: trustedShell{Space: l.Space, Shell: shell, Until: now.Add(codeHolds)}}
	token, _ := safefile.Read(h.path, maxApprovalHours) // a missing file remembers nothing, nor does a forged one
	if sealer.UnsealAs(approvalHourName, string(token), maxApprovalHours, &h.all) != nil {
		h.all = nil
	}
	h.all = slices.DeleteFunc(h.all, func(s trustedShell) bool { return s.Until.Before(now) || s.Until.After(h.shell.Until) })
	return h
}

// holds reports whether the code was typed in this shell within the hour.
func (h *approvalHour) holds() bool {
	return h != nil && slices.ContainsFunc(h.all, func(s trustedShell) bool {
		return s.Space == h.shell.Space && s.Shell.Is(h.shell.Shell)
	})
}

// begin begins the hour after an approval with a code; later ones do not extend it. Unless it can be written, the next approval needs a
// code.
func (h *approvalHour) begin(decision string) {
	if h == nil || decision != "approve" || h.holds() {
		return
	}
	if token, err := h.sealer.SealAs(approvalHourName, append(h.all, h.shell)); err == nil {
		_ = safefile.WriteFile(h.path, []byte(token), safefile.Options{Mode: safefile.FileMode})
	}
}
