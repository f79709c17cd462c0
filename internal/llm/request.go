//lint:file-ignore SA1019 max_tokens is the name that most endpoints know; renamedLimit has the newer one

package llm

import (
	"errors"
	"math"
	"net/http"
	"slices"
	"strings"

	openai "github.com/sashabaranov/go-openai"
)

// request puts a question into the endpoint's words.
func (c *Client) request(r Request) openai.ChatCompletionRequest {
	request := openai.ChatCompletionRequest{
		Model:       c.config.Model,
		Messages:    messages(r),
		MaxTokens:   smaller(c.config.MaxTokens, r.MaxTokens),
		Temperature: temperature(c.config.Temperature),
	}
	if r.JSON {
		request.ResponseFormat = &openai.ChatCompletionResponseFormat{Type: openai.ChatCompletionResponseFormatTypeJSONObject}
	}
	// The library knows which models take the limit under its newer name only.
	if err := openai.NewReasoningValidator().Validate(request); errors.Is(err, openai.ErrReasoningModelMaxTokensDeprecated) {
		return renamedLimit(request)
	}
	return request
}

func messages(r Request) []openai.ChatCompletionMessage {
	prompt := openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: r.Prompt}
	if strings.TrimSpace(r.System) == "" {
		return []openai.ChatCompletionMessage{prompt}
	}
	return []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleSystem, Content: r.System}, prompt}
}

// smaller returns the smaller of two limits, of which 0 is none.
func smaller(a, b int) int {
	if a <= 0 || b <= 0 {
		return max(a, b, 0)
	}
	return min(a, b)
}

// temperature returns the value to send. The library leaves out a zero, so the
// smallest number stands for it.
func temperature(configured *float64) float32 {
	if configured == nil {
		return 0
	}
	return max(float32(*configured), math.SmallestNonzeroFloat32)
}

func renamedLimit(request openai.ChatCompletionRequest) openai.ChatCompletionRequest {
	request.MaxCompletionTokens, request.MaxTokens = request.MaxTokens, 0
	return request
}

// simplified returns the request without what the endpoint rejected, and whether
// there is anything to leave out: JSON mode, which many do not have, and the
// older name of the limit, which some no longer have.
func simplified(request openai.ChatCompletionRequest, err error) (openai.ChatCompletionRequest, bool) {
	var rejection *Error
	if !errors.As(err, &rejection) || rejection.Status != http.StatusBadRequest && rejection.Status != http.StatusUnprocessableEntity {
		return request, false
	}
	switch {
	case request.ResponseFormat != nil && rejection.lacks.jsonMode:
		request.ResponseFormat = nil
		return request, true
	case request.MaxTokens > 0 && rejection.lacks.limitName:
		return renamedLimit(request), true
	}
	return request, false
}

// lack is what an endpoint says it does not support.
type lack struct{ jsonMode, limitName bool }

// lacks reads it out of what an endpoint complains about.
func (c complaint) lacks() lack {
	about := strings.ToLower(c.text + " " + c.param)
	mentioned := func(word string) bool { return strings.Contains(about, word) }
	return lack{
		jsonMode:  slices.ContainsFunc([]string{"response_format", "response format", "json_object", "json_schema", "json mode"}, mentioned),
		limitName: mentioned("max_completion_tokens"),
	}
}
