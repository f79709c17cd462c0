package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	openai "github.com/sashabaranov/go-openai"

	"github.com/planloop/planloop/internal/outbound"
	"github.com/planloop/planloop/internal/safetext"
)

// MaxAnswer is the most that is read of an answer, in bytes: the frame around the
// text included.
const MaxAnswer = 512 << 10

// answer returns the text of the first choice. Of the frame around it only the
// choices count: endpoints differ in all they put beside them, down to its types.
func (c *Client) answer(body []byte, key string) (string, error) {
	unusable := func(problem, want string) (string, error) {
		return "", &Error{Kind: ErrMalformed, Problem: c.host + " " + problem, Want: want}
	}
	const compatible = "check that base_url is that of an OpenAI-compatible endpoint"
	var frame struct {
		Choices json.RawMessage `json:"choices"`
		Error   json.RawMessage `json:"error"`
	}
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")) {
		return unusable("answered with a web page", compatible)
	}
	if !utf8.Valid(body) {
		return unusable("answered with text that is not UTF-8", compatible)
	}
	if err := json.Unmarshal(body, &frame); err != nil {
		return unusable("answered with something that is not one whole JSON object"+quoted(string(body), key), compatible)
	}
	if !given(frame.Choices) && given(frame.Error) { // some gateways send it with the status of a success
		return unusable("answered with an error"+quoted(outbound.ServiceMessage(body), key),
			"check the section model and what the endpoint supports")
	}
	var choices []openai.ChatCompletionChoice
	if err := json.Unmarshal(frame.Choices, &choices); !given(frame.Choices) || err != nil {
		return unusable("answered with JSON that is not a chat completion", compatible)
	}
	if len(choices) == 0 {
		return unusable("answered without a choice", "ask again")
	}
	message := choices[0].Message
	text := message.Content
	for _, part := range message.MultiContent {
		text += part.Text
	}
	text = strings.TrimSpace(withoutThoughts(text))
	switch {
	case choices[0].FinishReason == openai.FinishReasonLength:
		return unusable("cut the answer off at its limit of tokens", "raise max_tokens under model, or ask for less")
	case choices[0].FinishReason == openai.FinishReasonContentFilter:
		return unusable("filtered the answer", "rephrase the request")
	case text == "" && message.Refusal != "":
		return unusable("passed on a refusal"+quoted(message.Refusal, key), "rephrase the request")
	case text == "":
		return unusable("answered with no text", "ask again")
	}
	text = safetext.Replace(text)
	if len(key) >= shortestInText {
		text = strings.ReplaceAll(text, key, outbound.Hidden)
	}
	if len(text) > MaxAnswer {
		return unusable(fmt.Sprintf("answered with more than %d KiB", MaxAnswer>>10), "ask for less")
	}
	return text, nil
}

// shortestInText is the length of the shortest key that is taken out of an
// answer: a shorter one may be a word.
const shortestInText = 16

func given(value json.RawMessage) bool { return len(value) > 0 && string(value) != "null" }

// quoted returns the beginning of what an endpoint said, for the end of a sentence.
func quoted(text, key string) string {
	if text = outbound.Excerpt(text, key); text == "" {
		return ""
	}
	return ` (it says "` + text + `")`
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
