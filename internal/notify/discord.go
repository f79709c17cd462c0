package notify

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// What Discord takes, in units of text: https://discord.com/developers/docs/resources/message#embed-object-embed-limits
const (
	discordTitle  = 256
	discordAuthor = 256
	discordName   = 256
	discordValue  = 1024
	discordTotal  = 6000
	discordFields = 25
)

// What is used of it.
const (
	embedText   = 1000
	embedFooter = 300
	embedMore   = 64 // room for the field that counts the steps that are not shown
)

// message is what Discord's webhooks are sent.
type message struct {
	Embeds   []embed             `json:"embeds"`
	Mentions map[string][]string `json:"allowed_mentions"`
}

type embed struct {
	Author      *author `json:"author,omitempty"`
	Title       string  `json:"title"`
	Description string  `json:"description,omitempty"`
	Color       int     `json:"color,omitempty"`
	Fields      []field `json:"fields,omitempty"`
	Footer      *footer `json:"footer,omitempty"`
	Timestamp   string  `json:"timestamp"`
}

type author struct {
	Name string `json:"name"`
}

type footer struct {
	Text string `json:"text"`
}

type field struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func discordBody(e envelope) ([]byte, error) {
	nobody := map[string][]string{"parse": {}} // what may ping; without it, everything may
	return json.Marshal(message{[]embed{embedOf(e.Notice)}, nobody})
}

// embedOf renders a notice. Author and footer are shown as they are, without
// markup; all else is escaped.
func embedOf(n Notice) embed {
	word := n.Event.wording().subject + ": "
	colour, _ := look(n.highest())
	e := embed{
		Title:       word + markdown(n.subject(), discordTitle-units(word)),
		Description: markdown(paragraph(n.Text), embedText),
		Color:       colour,
		Timestamp:   n.Time.UTC().Format(time.RFC3339),
	}
	left := discordTotal - units(e.Title) - units(e.Description)
	if name := folder(n.Workspace); name != "" {
		e.Author = &author{unpinged(cut(name, discordAuthor/2))}
		left -= units(e.Author.Name)
	}
	if call := n.call(); call != "" {
		e.Footer = &footer{unpinged(cut(call, embedFooter))}
		left -= units(e.Footer.Text)
	}
	slots := discordFields
	questions := questionFields(n.Questions)
	for _, q := range questions {
		slots--
		left -= q.units()
	}
	e.Fields = append(stepFields(n.Steps, slots, left), questions...)
	return e
}

// unpinged returns text in which an @ names nobody, at most twice as long.
func unpinged(s string) string { return strings.ReplaceAll(s, "@", "@\u200b") }

// folder is the last element of a path, of whatever system.
func folder(path string) string {
	path = strings.TrimRight(line(path), `/\`)
	return path[strings.LastIndexAny(path, `/\`)+1:]
}

func (f field) units() int { return units(f.Name) + units(f.Value) }

// look returns the colour of the bar beside an embed and the sign of a step: green,
// yellow, red, or none.
func look(risk string) (colour int, circle string) {
	switch risk {
	case "low":
		return 0x2ecc71, "🟢"
	case "medium":
		return 0xf1c40f, "🟡"
	case "high":
		return 0xe74c3c, "🔴"
	}
	return 0, "⚪"
}

// stepFields renders the steps in at most slots fields and left units. Each gets
// an equal share of the room, and what a short one leaves goes to those after it.
func stepFields(steps []Step, slots, left int) []field {
	shown := steps
	if len(steps) > slots {
		shown = steps[:slots-1]
		left -= embedMore
	}
	var fields []field
	for i, s := range shown {
		f := stepField(i, s, left/(len(shown)-i))
		left -= f.units()
		fields = append(fields, f)
	}
	if more := len(steps) - len(shown); more > 0 {
		fields = append(fields, field{"…", fmt.Sprintf("and %d more steps", more)})
	}
	return fields
}

// stepField puts what planloop says of a step into the name and what the plan
// says into the value, so that a title cannot pass for a risk.
func stepField(i int, s Step, room int) field {
	id := cmp.Or(line(s.ID), fmt.Sprintf("Step %d", i+1))
	colour, circle := look(s.Risk)
	name := circle + " " + markdown(id, discordName/8)
	if colour != 0 {
		name += " · " + s.Risk + " risk"
	}
	title := cmp.Or(line(s.Title), untitled)
	return field{name, markdown(title, min(discordValue, room-units(name)))}
}

// questionFields renders the questions a plan leaves open, in one field or none.
func questionFields(questions []string) []field {
	var lines []string
	for _, question := range questions {
		if question = line(question); question != "" {
			lines = append(lines, "• "+question)
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return []field{{"Open questions", markdown(strings.Join(lines, "\n"), discordValue)}}
}

// markdown returns text that Discord shows as it is, in at most limit units. A
// backslash takes the meaning from a mark; a space of no width after an @ keeps it
// from naming anybody, even where backslashes are not looked at. Escaping the
// colon undoes links and the short names of emoji.
func markdown(s string, limit int) string {
	return rewritten(s, limit, func(r rune) string {
		switch {
		case r == '@':
			return "@\u200b"
		case strings.ContainsRune("\\`*_~|<>#-.:[]()", r):
			return `\` + string(r)
		}
		return string(r)
	})
}
