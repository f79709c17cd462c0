package prompts

import (
	"fmt"
	"strings"
	"text/template"
	"unicode/utf8"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

// Limits of quoted text from outside, in characters; maxMemories to maxTools are numbers of items. The prompt says how
// much was cut, so that a model knows that there is more.
const (
	maxTree        = 8_000
	maxDocument    = 16_000 // one file
	maxDocuments   = 40_000 // all specification files together
	maxCode        = 24_000 // all excerpts of code together
	maxFormer      = 24_000
	maxJudgedTasks = 60_000

	maxItem        = 400 // one memory, constraint, finding, mark or task
	maxMemories    = 30
	maxConstraints = 30
	maxFindings    = 60
	maxMarks       = 80
	maxTasks       = 250
	maxTools       = 120

	maxPathShown = 160
)

// quote returns at most limit characters of text from outside, marked, under a label, which may be empty. It returns "" if
// the text is blank.
func quote(label, text string, limit int) string {
	shown, cut := bound(text, limit)
	if strings.TrimSpace(shown) == "" {
		return ""
	}
	return paragraph(label) + paragraph(safetext.Marked(shown)) + strings.TrimSuffix("\n"+cut, "\n")
}

// paragraph puts text below an empty line, and returns "" for "".
func paragraph(text string) string { return strings.TrimSuffix("\n\n"+text, "\n\n") }

func quoteList(items []string, most int) string {
	var lines []string
	left := 0
	for _, item := range items {
		if len(lines) == most { // omitted items need no cleaning
			left++
		} else if item = oneLine(item, maxItem); item != "" {
			lines = append(lines, "- "+item)
		}
	}
	quoted := quote("", strings.Join(lines, "\n"), most*(maxItem+len("- \n")))
	if quoted != "" && left > 0 {
		quoted += fmt.Sprintf("\n(%d more are not shown.)", left)
	}
	return quoted
}

// bound returns at most limit characters of text, made safe, and a remark about the rest. It cuts at a line end if one
// is near.
func bound(text string, limit int) (shown, cut string) {
	total := utf8.RuneCountInString(text)
	shown = strings.Trim(quotable(head(text, limit)), "\n")
	kept := strings.TrimRight(head(shown, limit), "\u200c\u200d") // a joiner at the end would be invisible
	if total <= limit && len(kept) == len(shown) {
		return kept, ""
	}
	if i := strings.LastIndexByte(kept, '\n'); i > len(kept)*4/5 {
		kept = kept[:i]
	}
	return kept, fmt.Sprintf("(Cut: about the first %d of %d characters are shown.)", utf8.RuneCountInString(kept), total)
}

func head(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}

// quotable returns text with invisible and control characters escaped, and plain line ends.
func quotable(text string) string { return safetext.Escape(safetext.Newlines(text)) }

// quoted puts a line into double quotes; its own become single ones.
func quoted(line string) string { return `"` + strings.ReplaceAll(line, `"`, "'") + `"` }

// oneLine returns text on one line with at most limit characters.
func oneLine(text string, limit int) string {
	line := strings.Join(strings.Fields(quotable(head(strings.TrimSpace(text), 2*limit))), " ")
	return plan.Shorten(line, limit)
}

// Document is a file, or an excerpt of one, for quoting.
type Document struct {
	Path string
	Text string
}

// section returns quoted blocks under a heading and a lead that says how to read them; "" without blocks.
func section(title, lead string, blocks ...string) string {
	body := strings.Join(blocks, "")
	if body == "" {
		return ""
	}
	return paragraph("### "+title) + paragraph(lead) + body
}

// documents returns a section of files with at most limit characters in total, and counts the omitted files.
func documents(title, lead string, files []Document, limit int) string {
	var blocks []string
	left := 0
	for _, d := range files {
		if limit <= 0 {
			left++
			continue
		}
		most := min(limit, maxDocument)
		blocks = append(blocks, quote("File "+quoted(oneLine(d.Path, maxPathShown)), d.Text, most))
		shown, _ := bound(d.Text, most)
		limit -= utf8.RuneCountInString(shown)
	}
	if left > 0 {
		blocks = append(blocks, paragraph(fmt.Sprintf("(%d more files are not shown.)", left)))
	}
	return section(title, lead, blocks...)
}

// quoting returns the functions and limits by which templates quote text from outside.
func quoting() template.FuncMap {
	funcs := template.FuncMap{"section": section, "quote": quote, "list": quoteList, "documents": documents,
		"line": inLine, "plainLine": plainLine, "items": itemLines, "withoutReports": withoutReports,
		"lines": func(texts []string) string { return strings.Join(texts, "\n") }, "join": strings.Join, "tagged": tagged,
		"cut": func(text string, limit int) bool { _, cut := bound(text, limit); return cut != "" }}
	for name, limit := range map[string]int{"maxTree": maxTree, "maxDocument": maxDocument, "maxDocuments": maxDocuments,
		"maxCode": maxCode, "maxFormer": maxFormer, "maxJudgedTasks": maxJudgedTasks, "maxItem": maxItem, "maxMemories": maxMemories,
		"maxConstraints": maxConstraints, "maxFindings": maxFindings, "maxMarks": maxMarks, "maxTasks": maxTasks,
		"maxTools": maxTools, "maxGoal": goalLimit} {
		funcs[name] = func() int { return limit }
	}
	return funcs
}
