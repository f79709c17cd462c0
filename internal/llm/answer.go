package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	openai "github.com/sashabaranov/go-openai"
)

// MaxAnswer is the most that is read of an answer, in bytes: the frame around the
// text included.
const MaxAnswer = 512 << 10

const wantCompatible = "check that base_url is that of an OpenAI-compatible endpoint"

// choices returns what the library is to decode: the answer's choices alone.
// Endpoints differ in everything they put beside them, down to its types.
func (x *exchange) choices(body []byte) ([]byte, *Error) {
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")) {
		return nil, x.failure(ErrMalformed, "answered with a web page", wantCompatible)
	}
	if !utf8.Valid(body) {
		return nil, x.failure(ErrMalformed, "answered with text that is not UTF-8", wantCompatible)
	}
	var frame struct {
		Choices json.RawMessage `json:"choices"`
		Error   json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(body, &frame); err != nil {
		f := x.failure(ErrMalformed, "answered with something that is not one whole JSON object", wantCompatible)
		f.Says = x.excerpt(string(body))
		return nil, f
	}
	if given(frame.Error) && !given(frame.Choices) {
		return nil, x.failedInside(body)
	}
	if !given(frame.Choices) {
		return nil, x.failure(ErrMalformed, "answered without choices", wantCompatible)
	}
	return slices.Concat([]byte(`{"choices":`), frame.Choices, []byte("}")), nil
}

func given(value json.RawMessage) bool { return len(value) > 0 && string(value) != "null" }

// failedInside judges an error that came with the status of a success, as some
// gateways send it.
func (x *exchange) failedInside(body []byte) *Error {
	c := complaintOf(body)
	if status := c.status(); status != 0 {
		return x.judged(status, c)
	}
	f := x.failure(ErrRejected, "answered with an error", "check the section model and what the endpoint supports")
	f.Says = x.excerpt(c.text)
	return f
}

// answer returns the text of the first choice.
func (x *exchange) answer(response openai.ChatCompletionResponse) (string, *Error) {
	if len(response.Choices) == 0 {
		return "", x.failure(ErrMalformed, "answered without a choice", "ask again")
	}
	choice := response.Choices[0]
	text := strings.TrimSpace(withoutThoughts(said(choice.Message)))
	switch {
	case choice.FinishReason == openai.FinishReasonLength:
		return "", x.failure(ErrTooLong, "cut the answer off at its limit of tokens", "raise max_tokens under model, or ask for less")
	case choice.FinishReason == openai.FinishReasonContentFilter:
		return "", x.failure(ErrDeclined, "filtered the answer", "ask in other words")
	case text == "" && choice.Message.Refusal != "":
		f := x.failure(ErrDeclined, "passed on a refusal", "ask in other words")
		f.Says = x.excerpt(choice.Message.Refusal)
		return "", f
	case text == "":
		return "", x.failure(ErrMalformed, "answered with no text", "ask again")
	}
	text = visible(text)
	if len(x.key) >= shortestInText {
		text = strings.ReplaceAll(text, x.key, hidden)
	}
	if len(text) > MaxAnswer {
		return "", x.tooLong(fmt.Sprintf("answered with more than %d KiB", MaxAnswer>>10))
	}
	return text, nil
}

// shortestInText is the length of the shortest key that is taken out of an
// answer: a shorter one may be a word.
const shortestInText = 16

// said returns the text of a message, which comes whole or in parts.
func said(message openai.ChatCompletionMessage) string {
	var b strings.Builder
	b.WriteString(message.Content)
	for _, part := range message.MultiContent {
		b.WriteString(part.Text)
	}
	return b.String()
}

// withoutThoughts returns text without the thoughts that some models write in
// front of the answer. Thoughts without an end hold no answer.
func withoutThoughts(text string) string {
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), "<think>")
	if !ok {
		return text
	}
	_, answer, _ := strings.Cut(rest, "</think>")
	return answer
}

// visible replaces what can deceive a reader or a terminal: control characters
// but newline and tab, and overrides of the direction of writing.
func visible(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case unicode.IsControl(r), r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069:
			return utf8.RuneError
		}
		return r
	}, text)
}
