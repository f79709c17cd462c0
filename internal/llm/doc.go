// Package llm asks one question of one model: any endpoint that speaks OpenAI's
// chat completions. The user configures it, in a file of their own, and names the
// environment variable that holds the key; the key is read when it is sent and
// kept nowhere.
//
// An endpoint is not trusted. It may hang, drip, redirect, answer with a megabyte
// of prose or with a web page: a call ends within twice the configured timeout,
// reads a bounded answer, and says what is wrong in few words of its own. What a
// model answered is text from outside, to be judged like any other input.
//
// The package must not know what is asked or why: no plan, no prompt, no verdict,
// no file of the configuration. It starts no goroutine that outlives a call.
package llm
